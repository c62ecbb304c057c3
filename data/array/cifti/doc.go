// Package cifti reads CIFTI-2 files, the format of Workbench, the HCP pipelines and nibabel for
// brain data: a NIfTI-2 header, an XML text that describes the rows and columns, and one matrix. It
// also averages vertices within the parcels of a label file, and writes other numbers over the
// parcels of a file ([Template]).
//
// A file has two axes. Axis 0 (AppliesToMatrixDimension 0, dim[5] of the header) varies fastest in
// the file, axis 1 (dim[6]) slowest, so the data is a row-major matrix of shape [axis 1, axis 0].
// In a ptseries file axis 0 is time and axis 1 the parcels: the matrix is [parcels, time]. nibabel
// shows the transpose of it, Workbench calls axis 0 ROW.
//
// Sources: NIfTI-2 (nifti.nimh.nih.gov/nifti-2), CIFTI-2 main specification
// (www.nitrc.org/projects/cifti).
//
// Invariants. An [Image] that was read is complete: its axes have the lengths of its data, the
// models of a BRAIN_MODELS axis cover it with no hole, overlap or repeated vertex, and no two
// parcels share a name, a vertex or a voxel. Lengths are checked against the file's before memory
// is allocated for them, in a compressed file against the largest size to which its bytes can
// expand, and against an [array.Budget]. An image keeps eight bytes for each number of the data,
// regardless of its type in the file, and a few times the XML. The XML may have no DOCTYPE, no
// entities of its own, and only elements of the format, which bounds its nesting.
package cifti
