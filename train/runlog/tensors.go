package runlog

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/data/array/safetensors"
	"torchpe/internal/wording"
)

// Weights names the buffer of the parameters themselves; torchpe.Optimizer.State names the others.
const Weights = "w"

// ParameterTensor returns the name, in a checkpoint, of a parameter's part [E,...] of a buffer:
// "w/head.weight", "adam.m/head.weight".
func ParameterTensor(buffer, parameter string) string { return buffer + "/" + parameter }

// ParameterOf returns the name of the parameter whose weights have this name in a checkpoint. Other
// names are returned unchanged.
func ParameterOf(name string) string { return strings.TrimPrefix(name, ParameterTensor(Weights, "")) }

// Names of a checkpoint's other tensors, float64.
const (
	LossTensor     = "state/loss"     // [E] sum of the examples' losses since the last record
	CorrectTensor  = "state/correct"  // [E] correct answers among them
	SeenTensor     = "state/seen"     // [1] their number
	DivergedTensor = "state/diverged" // [E] step (from 1) at which the loss was not finite; 0 = none
)

// Names of tensors of the probes that are common to all members.
const (
	AmplitudesProbe = "noise/amplitude" // [n] amplitudes of the noise tests
	ModulesProbe    = "modules"         // [N] module of each token
	TargetProbes    = "target/"         // and a split: [n] the correct class of each puzzle
)

// Keys of a checkpoint's metadata.
const (
	ConfigKey      = "config"      // the run's configuration, as compact JSON
	DataKey        = "data_sha256" // SHA-256 of the training data
	EnvironmentKey = "environment" // JSON of the program and machine, which results may also depend on
	SecondsKey     = "seconds"     // of training, over all resumptions
	OptimizerKey   = "optimizer"   // its name

	// Added by Run; a caller's keys must not start with this prefix.
	reservedPrefix  = "torchpe."
	checkpointKey   = reservedPrefix + "schema"        // SchemaVersion
	stepKey         = reservedPrefix + "step"          // optimizer steps done
	checksumKey     = reservedPrefix + "crc32c"        // JSON object: hexadecimal CRC-32C of each tensor's data
	headChecksumKey = reservedPrefix + "crc32c.header" // CRC-32C of everything else in the header
)

// MemberPart returns a member's part [1,...] of a tensor [E,...] of a checkpoint or of the probes.
// Tensors common to all members are returned as they are. Data are not copied.
func MemberPart(t safetensors.Tensor, member, members int) (safetensors.Tensor, error) {
	isShared := slices.Contains([]string{SeenTensor, AmplitudesProbe, ModulesProbe}, t.Name)
	if isShared || strings.HasPrefix(t.Name, TargetProbes) {
		return t, nil
	}
	if len(t.Shape) == 0 || t.Shape[0] != members || member < 0 || member >= members {
		return t, fmt.Errorf("%s has shape %v, but the run has %s",
			t.Name, t.Shape, wording.Count(members, "member"))
	}
	size := len(t.Data) / members
	t.Shape = append([]int{1}, t.Shape[1:]...)
	t.Data = t.Data[member*size : (member+1)*size]
	return t, nil
}

// MemberParts returns a member's part of each tensor.
func MemberParts(tensors []safetensors.Tensor, member, members int) ([]safetensors.Tensor, error) {
	parts := make([]safetensors.Tensor, len(tensors))
	for i, t := range tensors {
		var err error
		if parts[i], err = MemberPart(t, member, members); err != nil {
			return nil, err
		}
	}
	return parts, nil
}
