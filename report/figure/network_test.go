package figure

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"strings"
	"testing"

	"torchpe/report/internal/viewer"
)

// twoModules is a network of two modules with waves for series.
func twoModules(nodes, frames int) Network {
	n := Network{MatrixLabel: "weight", Row: "node (to)", Column: "node (from)",
		FrameLabel: "time point", Note: "Two modules σ=1."}
	for i := range nodes {
		n.Labels = append(n.Labels, 2*i/nodes)
		n.Names = append(n.Names, fmt.Sprintf("node%02d", i+1))
	}
	for i := range nodes {
		for j := range nodes {
			v := -0.2
			if n.Labels[i] == n.Labels[j] {
				v = 1
			}
			n.Matrix = append(n.Matrix, v)
		}
	}
	for f := range frames {
		for i := range nodes {
			n.Series = append(n.Series, float32(math.Sin(float64(f)/5+3*float64(n.Labels[i]))))
		}
	}
	return n
}

func TestNetworkSeries(t *testing.T) {
	for _, nodes := range []int{2, 15, 360} {
		f, err := NetworkSeries(twoModules(nodes, 50))
		if err != nil {
			t.Fatal(err)
		}
		checkSVG(t, "network", encode(t, f, "svg"))
		img, err := png.Decode(bytes.NewReader(encode(t, f, "png")))
		if err != nil || img.Bounds().Dx() != 2100 || img.Bounds().Dy() != 900 {
			t.Fatalf("%d nodes: %v, %v", nodes, img.Bounds(), err)
		}
		text := viewer.Poppler(t, encode(t, f, "pdf"), "pdftotext", "-layout", viewer.PDF, "-")
		for _, want := range []string{"node (from)", "time point", "node01", "Two modules σ=1.",
			"−1"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d nodes: %q is missing from the PDF's text:\n%s", nodes, want, text)
			}
		}
	}
}

// The colours of the heat map are where the numbers are: the first row is at the top, and blue is
// negative.
func TestNetworkColours(t *testing.T) {
	n := twoModules(2, 10)
	n.Matrix = []float64{0, -1, 1, 0} // to the first node from the second: negative
	f, err := NetworkSeries(n)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(encode(t, f, "png")))
	if err != nil {
		t.Fatal(err)
	}
	var blue, red [3]int // sum of x, of y, count
	for y := range img.Bounds().Dy() {
		for x := range 700 {
			r, g, b, _ := img.At(x, y).RGBA()
			at := func(sum *[3]int, want uint32) {
				if r>>8<<16|g>>8<<8|b>>8 == want {
					sum[0], sum[1], sum[2] = sum[0]+x, sum[1]+y, sum[2]+1
				}
			}
			at(&blue, 0x2166ac)
			at(&red, 0xb2182b)
		}
	}
	if blue[2] < 1000 || red[2] < 1000 || blue[0]/blue[2] <= red[0]/red[2] ||
		blue[1]/blue[2] >= red[1]/red[2] {
		t.Errorf(
			"blue %v and red %v: want blue in the upper right of the matrix, red in the lower left",
			blue, red)
	}
}

func TestNetworkErrors(t *testing.T) {
	for want, change := range map[string]func(*Network){
		"side by side":     func(n *Network) { n.Labels[1] = 1; n.Labels[2] = 0 },
		"matrix of 3":      func(n *Network) { n.Matrix = n.Matrix[:3] },
		"not finite":       func(n *Network) { n.Matrix[2] = math.NaN() },
		"series":           func(n *Network) { n.Series = n.Series[:5] },
		"at least two":     func(n *Network) { n.Labels = n.Labels[:1] },
		"count from 0":     func(n *Network) { n.Labels[0] = -1 },
		"control":          func(n *Network) { n.Names[0] = "a\nb" },
		"series have a nu": func(n *Network) { n.Series[2] = float32(math.Inf(1)) },
	} {
		n := twoModules(4, 10)
		change(&n)
		if _, err := NetworkSeries(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	n := twoModules(4, 10)
	clear(n.Matrix)
	clear(n.Series)
	f, err := NetworkSeries(n)
	if err != nil {
		t.Fatal(err)
	}
	checkSVG(t, "zeros", encode(t, f, "svg"))
}
