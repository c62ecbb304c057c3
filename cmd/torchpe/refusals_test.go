package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// refusals are command lines that must fail: with which exit code, saying what. Words are separated by
// blanks. Nothing may be written.
var refusals = []struct {
	command string
	code    int
	says    string
}{
	{"tran --pe learn", 2, `unknown command "tran"; did you mean "train"?; see torchpe --help`},
	{"trian", 2, `did you mean "train"`},
	{"doctor extra", 2, `doctor: unknown argument "extra"; see torchpe doctor --help`},
	{"completion tcsh", 2, "tcsh"},
	{"pe value", 2, `did you mean "values"`},
	{"data hpc", 2, `data: unknown command "hpc"`},
	{"data lst chekc", 2, `data lst: unknown command "chekc"; did you mean "check"?`},
	{"runs lst runs", 2, `did you mean "list"`},

	// train
	{"train --pe lern --d-model -3", 2, `"learn"`},
	{"train --pe lern --d-model -3", 2, "--d-model"},
	{"train --lr nan --epochs 0", 2, "--lr"},
	{"train --lr nan --epochs 0", 2, "--epochs"},
	{"train --epoch 3", 2, "train: unknown flag: --epoch; did you mean --epochs?"},
	{"train --dim 16", 2, "did you mean --d-model?"},
	{"train --heads three", 2, "--heads"},
	{"train --device gpu", 2, `--device: "gpu" is not one of auto, cpu, cuda`},
	{"train --d-model 10 --heads 3", 2, "divisible"},
	{"train --pe rope --rope-base -1 --fixed-pe-dropout 7", 2, "--rope-base"},
	{"train --preset quik", 2, `"quick"`},
	{"train --fidelity paper", 2, "code or text"},
	{"train --out -rf", 2, "-rf"},
	{"train --pe learn-0.2 --sigma 0.3", 2, "--sigma"},
	{"train --task sequence --sequence even-pairs --pe-init mds", 2, "--pe-init mds: it needs coordinates of tokens"},
	{"train --members 3 --sigma 0.1,0.2", 2, "2 values for 3 members"},
	{"train --members 0", 2, `--members "0": want 1 to 4096`},
	{"train --resume --force", 2, "--force and --resume exclude each other"},
	{"train --resume --out there-not", 2, "there is no run"},
	{"train --resume --out there-not --epochs 40 --allow-changed epochs", 2, "there is no run"},
	{"train --seeds 9223372036854775808", 2, "2^63-1"},
	{"train --seeds 9223372036854775807 --members 2", 2, "2^63-1"},
	{"train --lst-train train.csv", 2, "--lst-validation"},
	{"train --pe rope --d-model 12 --heads 4", 2, "head width 3"},
	{"train --pe-init matched:rope", 2, "no fixed table"},
	{"train --allow-changed lr", 2, "--resume"},
	{"train --resume --allow-changed epoch", 2, "epochs"},
	{"train --resume --allow-changed lr", 2, "in config.json it is members.lr"},
	{"train --pe learn-0.1*2,nope", 2, "here it is learn without its sigma, which --sigma 0.1 gives"},
	{"train --tensorboard false", 2, "--tensorboard=false"},
	{"train --task masked --data d.csv there.csv --zscore false", 2,
		`unknown argument "false": a switch takes it after =`},
	{"sweep quick --mem 8G", 2, "unknown flag: --mem; did you mean --memory?"},
	{"train --threads 0", 2, "--threads"},
	{"train --log-every 0", 2, "--log-every"},
	{"train --seeds 1,two", 2, `"two"`},
	{"train extra", 2, "extra"},
	{"train --members 3 --seeds 1:2", 2, "--members 3, but --seeds 1:2 has 2"},
	{"train --sigma 0.1,0.1", 2, "members: the model of seed 1 is given twice"},
	{"train --pe learn,rope", 2, "want one encoding; torchpe sweep --pe learn,rope trains each"},
	{"train --pe learn --pe rope", 2,
		`--pe "rope": given as learn before: want one; torchpe sweep --pe learn,rope trains each`},
	{"train --preset quick --preset lst", 2, `--preset "lst": given as quick before: give one of them`},
	{"train --seeds 1 --seed 2", 2, `--seeds "2": given as 1 before: give one list, --seeds 1,2`},
	{"train --pe learn --sigma .1 --sigma 2", 2, "given as .1 before: give one list, --sigma .1,2"},
	{"train --heads 4 --heads 4 --heads 2", 2, "given as 4 before: want one; torchpe sweep --heads 4,2 trains"},
	{"train --pe learn-0,2", 2, "decimal comma? Then write learn-0.2"},
	{"train --task mask", 2, `did you mean "masked"`},
	{"sweep --sigma 0.1:2 --dry-run", 2, "a range is from:to:step, such as 0.1:2:0.1"},
	{"sweep --pe nope --pe nope,rope --dry-run", 2, "pe: nope is given twice"},
	{"train --task sequence --sequence even-pairs --pe 2d-fixed --dry-run", 2, "it needs tokens on a grid"},
	{"train --resume --preset quick --heads 8", 2, "there is no run"},
	{"train --dry-run --task masked --data there-not.csv", 2, "there-not.csv: no such file"},
	{"train --sigma 0_2", 2, `"0_2" is not a number`},
	{"train --lr 0x1p-10", 2, `"0x1p-10" is not a number`},
	{"train --pe rope --rope-base 1_0", 2, `"1_0" is not a number`},
	{"train --task nmar --until test_mse/0.4=0.5 --dry-run", 2,
		"test_mse/0.40 is not measured: add 0.40 to --test-levels, or stop at one of 0.90, 0.75, 0.50, 0.15"},
	{"train --task fmri --surrogate subjects=3,subjects=4 --dry-run", 2, "subjects is given twice"},
	{"train --until train=0_9", 2, `"train=0_9" is not NUMBER=BOUND`},
	{"train --d-model 0x10", 2, `"0x10" is not a whole number`},
	{"pe plot learn --tokens 0x10 --out x.pdf", 2, `"0x10" is not a whole number`},
	{"train --d-model 16,32", 2, `"16,32" is not a whole number; torchpe sweep takes several values`},
	{"sweep --task masked --pe nope,rope --data t.cvs --out s", 2, "torchpe: --data: "},
	{"train --pe rotary", 2, `"rotary" is unknown; did you mean "rope"?`},
	{"train --pe learn-02", 2, `"learn-02" is unknown; did you mean "learn-0.2"?`},
	{"train --task nmr", 2, `--task: "nmr" is not one of`},
	{"train --task nmar --mask-level 0", 2, "--mask-level"},
	{"train --preset quick --out there", 2, "--force"},
	{"train --task masked --data missing", 2, "missing"},
	{"train --lst-train gone.csv --lst-validation gone.csv --out run", 2, "gone.csv"},
	{"train --lst-train bad.csv --lst-validation bad.csv --out run", 1, "bad.csv"},
	{"train --device cuda:700 --out run", 1, "cuda:700"},
	{"train --members 4096 --d-model 4096 --threads 1 --out run", 1, "memory"},
	{"train --task nmar --nmar-scale 1 --quiet --out run", 1, "--nmar-scale"},
	{"train --lst-train - --lst-validation validation.csv", 2, "cannot read standard input again"},
	{"train --task masked --data series.csv --modules -", 2, "cannot read standard input again"},
	{"train --d-model 16 --pe-init low-rank:17", 2, "at most rank 16"},
	{"train --pe-lr 1e-4,1e-5 --members 3", 2, "--pe-lr: 2 values for 3 members"},
	{"train --pe rope --eval-tokens x", 2, `"x" is not a whole number or the word none`},
	{"train --pe rope --eval-tokens 25,none", 2, `"none" is not a whole number`},
	{"train --pe rope --eval-tokens 24", 2, "no puzzle has 24 tokens: a grid is square and has 9, 16, 25, 36, 49, 64"},
	{"train --pe rope --eval-tokens 25,25", 2, "25 is given twice"},
	{"train --pe learn --eval-tokens 25", 2, "learn cannot be evaluated at 25 tokens: it was trained on 16"},
	{"train --lst-side 9", 2, "--lst-side: 9 is not in [4, 8]"},
	{"train --lst-side 3", 2, "--lst-side: 3 is not in [4, 8]"},
	{"train --lst-side 0", 2, "--lst-side: 0 is not in [4, 8]"},
	{"train --pe rope --eval-tokens=", 2, `"" is not a whole number or the word none`},
	{"train --noise loud", 2, `"loud" is not a number or the word none`},
	{"train --noise 0.1,0.1", 2, "given twice"},
	{"train --noise -1", 2, "--noise: -1"},
	{"train --noise=", 2, "none"},
	{"train --noise-repeats 0", 2, "--noise-repeats"},
	{"train --rename-symbols perhaps", 2, `"perhaps" is not true, false or the word auto`},
	{"demo --lst nowhere", 2, "nowhere"},
	{"demo --lst there", 2, "there lacks generated_puzzle_data_binary_dist80.csv"},
	{"demo --force", 2, "unknown flag: --force"},
	{"train --lst there", 2, "there lacks generated_puzzle_data_binary_dist80.csv"},
	{"train --lst there --lst-train train.csv", 2, "--lst replaces --lst-train and --lst-validation"},
	{"bench step --pe nope,rop", 2, `"rop"`},
	{"bench step --pe nope,rope --trace t.csv", 2, "--trace"},
	{"bench step --steps 0", 2, "--steps"},

	// analyze, runs, export, import, report
	{"analyze networ", 2, `did you mean "network"?`},
	{"runs list gone", 2, "no such file"},
	{"runs compare absent", 2, "no such file"},
	{"runs list runs --where sigmma=1", 2, `did you mean "sigma"`},
	{"runs list runs --where sigma", 2, "KEY OP VALUE"},
	{"runs list runs --sort x", 2, "is not a column"},
	{"export missing --out new", 2, "holds no run"},
	{"export --out twin", 2, "missing: RUN"},
	{"export runs/a", 2, "missing: --out"},
	{"import missing --out new", 2, "missing"},
	{"import there.csv --out new", 2, "there.csv/config.json: not a directory"},
	{"report absent", 2, "not a folder"},
	{"report there", 2, "no finished run"},
	{"report there --fidelity both", 2, `--fidelity "both": want one of code, text`},

	// data
	{"data lst generate", 2, "missing: --out"},
	{"data lst generate --out x --train 0", 2, `--train "0": want 1 to 200000`},
	{"data lst generate --out x --side 9", 2, `--side "9": want 3 to 8`},
	{"data lst generate --out x --side 3", 1, "ask for fewer puzzles or a larger side"},
	{"data lst generate --out there", 2, "there/train.csv exists: choose another --out or pass --force"},
	{"pe list --csv none/x.csv", 2, "--csv none/x.csv: the folder none does not exist: create it first"},
	{"pe values 1d-fixed --dim 4 --tokens 4 --out none/x.npy", 2,
		"--out none/x.npy: the folder none does not exist: create it first"},
	{"data lst generate --out there.csv", 2, "--out: "}, // a file where the folder should be
	{"data lst check train.csv", 2, "give both"},
	{"data lst check --validation train.csv", 2, "give both"},
	{"data lst check --validation train.csv --seed 1 train.csv", 2, "--seed and --validation exclude each other"},
	{"data lst check --validation train.csv gone.csv", 2, "gone.csv"},
	{"data lst check --validation gone.csv train.csv", 2, "gone.csv"},
	{"data nmar show --scale 1", 1, "spectral radius 1."},
	{"data nmar show --nodes 0 --noise -1", 2, "noise -1"},
	{"data nmar show --figure network.pdf", 2, "unknown flag: --figure"},
	{"data hcp check", 2, "missing: FILE..."},
	{"data hcp check missing", 2, "missing"},
	{"data hcp clean --data d.csv --out x.npy --run r", 2, "--nuisance and --run go together"},
	{"data hcp clean --data d.csv --out x.npy", 2, "missing: --motion or --nuisance"},
	{"data hcp clean --data d.csv --out x.npy --nuisance n --run r --motion m --wm w --ventricles v", 2,
		"exclude each other"},
	{"data sequence show odds", 2, "odds-first"},
	{"data sequence show odds-first --length 0", 2, `--length "0": want 1 or more`},
	{"data positions --data x.csv", 2, "--task is missing: give --task masked, fmri or nmar"},
	{"data positions --method pca", 2, `--method "pca": want one of gradients, mds`},

	// pe
	{"pe show lern", 2, `"lern" is unknown; did you mean "learn"?`},
	{"pe plot rope+allibi --out a.svg", 2, `"allibi" is unknown; did you mean`},
	{"pe show", 2, "missing: SCHEME"},
	{"pe plot --out a.svg", 2, "missing: SCHEME..."},
	{"pe plot alibi t5 --tisa-kernels 1 --out a.svg", 2, "--tisa-kernels is not an option of alibi, t5"},
	{"pe plot learn tisa --params none.npz --out a.svg", 2, "--params is for one scheme"},
	{"pe plot alibi --out a.csv", 2, "want a file that ends in .pdf or .png or .svg"},
	{"pe plot nope --out a.svg", 2, "nope acts nowhere"},
	{"pe values alibi", 2, "missing: --json or --out"},
	{"pe values alibi --out there.csv", 2, "want a file that ends in .npy or .json"},
	{"pe values alibi --tisa-kernels 3 --out -", 2, "--tisa-kernels is not an option of alibi"},
	{"pe values learn --positions 3x3 --out -", 2, "are 9, but there are 16 tokens"},
	{"pe values learn --params none.npz --out -", 2, "no such file"},
	{"pe values learn --params table.json --out -", 2, "table.json: arrays are not read from JSON: write one as .npy"},
	{"pe values swin --positions gone.csv --out -", 2, "gone.csv: no such file"},
	{"pe values swin --positions gird --out -", 2, "or a file"},
	{"pe values swin --positions 4x4 --positions-as grid --out -", 2, "--positions 4x4 is none"},
	{"pe values swin --positions where.csv --tokens 5 --out -", 2, "4 tokens, but there are 5"},
	{"pe values rope-3d --positions where.csv --positions-as graph --out -", 2, "square"},
	{"pe show tisa --tisa-kernels x", 2, `--tisa-kernels: "x" is not a whole`},
	{"pe list --dim 10 --heads 3", 2, "--dim 10 does not divide into --heads 3"},
	{"pe list --tokens 0", 2, "--tokens 0"},
	{"pe list --where casual=yes", 2, `did you mean "causal"`},
	{"pe list --where causal=true", 2, `--where: "causal=true": no scheme has this value; 1d-fixed has causal=no`},
	{"pe list --where reference=Shaw", 2, "reference~*Shaw* finds parts of texts"},
	{"pe list --where name>=a", 2, `"a" is not a number`},
	{"pe list --markdown", 2, "pe list: unknown flag: --markdown"},
	{"pe list --pictures images", 2, "pe list: unknown flag: --pictures"},
	{"pe list --fidelity book", 2, `--fidelity "book": want one of code, text`},
	{"pe list --csv - --json", 2, "--csv and --json exclude each other"},
	{"pe list --csv --where", 2, "--csv --where: want a file, or - to print the table"},
	{"pe export rope --out rope.txt", 2, "want a file that ends in .py"},
	{"pe check rope", 2, "missing: --against or --helper"},
	{"pe check --against x.npz", 2, "give one SCHEME"},
	{"pe check rope --against x.npz", 2, "no such file"},
	{"pe check roep --against x.npz", 2, `is unknown; did you mean "rope"`},
	{"pe check rope --against x.npz --tolerance -1", 2, "want a number in [0, 1)"},
	{"pe check rope --against x.npz --tolerance 1", 2, "want a number in [0, 1)"},
	{"pe check rope --against x.npz --seed 2", 2, "unknown flag: --seed"},
	{"pe check rope --against x.npz --what tables", 2, `did you mean "table"`},

	// sweep and advise
	{"sweep", 2, "nothing to train"},
	{"sweep figg2", 2, `"fig2"`},
	{"sweep bad.yaml", 2, `line 3, column 3: grid: "sigmaa" is unknown; did you mean "sigma"?`},
	{"sweep sigma.yaml", 2, `sigma.yaml: line 3, column 16: sigma: "abc" is not a number`},
	{"sweep pairs.yaml", 2, `pairs.yaml: line 1, column 30: lr: "1e-3,1e-4" is more than one number: write a list`},
	{"sweep count.yaml", 2, "count.yaml: line 1, column 8: seeds: 3 alone was a count: write members: 3"},
	{"sweep absent.yaml", 2, "absent.yaml"},
	{"sweep quick fig2", 2, "want PRESET|FILE, not 2 arguments"},
	{"sweep --pe learn,lern --out s", 2, "lern"},
	{"sweep --heads 3,5 --pe nope --out s", 2, "divisible"},
	{"sweep --pe learn --sigma 1:2:0 --out s", 2, "does not change"},
	{"sweep --pe learn --sigma abc --out s", 2, `--sigma: "abc" is not a number`},
	{"sweep --pe learn --heads 1.5 --out s", 2, `--heads: "1.5" is not a whole number`},
	{"sweep --pe learn --out s --pack 0", 2, `--pack "0": want a number from 1 to 4096`},
	{"sweep --pe learn --out s --launcher ssh", 2, `--launcher "ssh": want one of local, slurm, none`},
	{"sweep --pe learn --out s --workers -1", 2, "want 0 or more"},
	{"sweep --pe learn --out s --launcher none --fail-fast", 2, "--fail-fast: only --launcher local"},
	{"sweep --pe learn --out s --time 4h --gpus 1", 2, "--gpus, --time: only --launcher slurm submits jobs"},
	{"sweep --pe learn --sigma 0.1:0.35:0.1 --out s", 2, "step 0.1 does not reach 0.35: end with 0.3 or 0.4"},
	{"sweep --pe learn --out s --zip pe,lr", 2, "zip"},
	{"sweep --positions g,1.csv --dry-run", 2, "torchpe: --positions: g,1.csv is one file, but here commas " +
		`separate values: write a sweep file with set: {positions: "g,1.csv"}`},
	{"sweep --pe learn", 2, "--out is missing"},
	{"sweep --pe nope,nope --out s", 2, "nope is given twice"},
	{"sweep --pe nope --seeds 1:3,2 --out s", 2, "--seeds: 2 is given twice"},
	{"sweep --pe nope --lst-train gone.csv --lst-validation validation.csv --dry-run", 2, "gone.csv: no such file"},
	{"sweep --pe nope --launcher slurm --sbatch=--array=0-3 --out s", 2, "--array=0-3: torchpe sets --array itself"},
	{"sweep --lst-train - --out o", 2, "cannot read standard input again"},
	{"sweep --task nmar --pe learn --sigma 0.1,1 --until train=0.5 --out s", 2, "train is not a number at which"},
	{"sweep status .", 2, "holds no sweep"},
	{"sweep resume absent", 2, "holds no sweep"},
	{"sweep run-task .", 2, "missing: --index"},
	{"sweep retry absent", 2, "absent: holds no sweep"},
	{"advise --task nmar --nmar-frames 400 --pe nope", 2, "is the only candidate"},
	{"advise --preset quick --epochs 5", 2, "errors still fall; give --epochs 9 or more"},
	{"advise --task masked --data bad.csv --seeds 1,2", 2, "2 seeds cannot tell encodings apart: name 3 seeds"},
	{"advise --task nmar --budget 1h --steps 50", 2, "--budget and --steps exclude each other"},
	{"advise --task nmar --budget 0s", 2, "--budget 0s: want a time above 0, such as 1h"},
	{"advise --task masked --data nothing.csv --budget -1h", 2, "--budget -1h0m0s: want a time above 0"},
	{"advise --task nmar --sigma 0.3", 2, "torchpe: --sigma: without --pe, the candidates have their own σ"},
	{"advise --task nmarr", 2, "is not one of"},
	{"advise --task nmar --steps 50,100", 2, "--steps: encodings are compared at one value"},
	{"advise --task masked --data nothing.csv", 2, "no such file"},
	{"advise --task masked --data nothing.csv --positions g,1.csv", 2, "torchpe: --data: "},
	{"advise --task nmar --nmar-frames 400 --pe 2d-fixed,learn", 2, "2d-fixed: it needs tokens on a grid"},
}

func TestRefusals(t *testing.T) {
	dir := put(t, map[string]string{
		"there.csv": "", "there/train.csv": "", "there/config.json": "{}", "d.csv": "",
		"bad.csv":    "ID,LST_num,condition,puzzles,solutions\n0,,Binary,11,1\n",
		"table.json": `{"pe.table": [[[1, 2]]]}`,
		"g,1.csv":    "name,row,column\nc,1,0\nb,0,1\na,0,0\nd,1,1\n",
		"where.csv":  "name,row,column\nc,1,0\nb,0,1\na,0,0\nd,1,1\n",
		"count.yaml": "seeds: 3\ngrid: {pe: nope}\n",
		"bad.yaml":   "grid:\n  pe: [learn]\n  sigmaa: [1]\n",
		"pairs.yaml": "grid: {pe: [nope, rope], lr: \"1e-3,1e-4\"}\n",
		"sigma.yaml": "grid:\n  pe: [learn]\n  sigma: [0.5, abc]\n",
	})
	smallSet(t, dir)
	someRuns(t, dir)
	before := filesIn(t, dir)
	for _, c := range refusals {
		out, errs, code := here(t, dir, strings.Fields(c.command)...)
		if code != c.code || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("%s: exit code %d, %s%s; want %d and %q", c.command, code, out, errs, c.code, c.says)
		}
		expect.Equal(t, c.command+" left", filesIn(t, dir), before)
	}
}

// filesIn lists the files and folders below dir.
func filesIn(t *testing.T, dir string) (paths []string) {
	t.Helper()
	expect.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) != "lock" { // which train leaves in a folder that it was refused
			paths = append(paths, path)
		}
		return err
	}))
	return paths
}

// put writes files into a folder of the test.
func put(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	return dir
}

// A number with a leading zero is decimal, for settings and for other flags.
func TestWholeNumbersAreDecimal(t *testing.T) {
	for _, command := range []string{"pe values 1d-fixed --tokens 010 --dim 4 --json",
		"train --preset quick --d-model 010 --dry-run"} {
		got, errs, code := here(t, t.TempDir(), strings.Fields(command)...)
		want, _, _ := here(t, t.TempDir(), strings.Fields(strings.Replace(command, "010", "10", 1))...)
		if code != 0 || got != want || got == "" {
			t.Errorf("%s: exit code %d, %s%s; want %s", command, code, got, errs, want)
		}
	}
}
