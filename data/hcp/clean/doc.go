// Package clean removes motion and physiological noise from parcellated resting-state series by
// regression on 64 nuisance signals, run by run, as Ito's published pipeline does
// (github.com/ito-takuya/corrquench, glmScripts):
//
//  1. 32 signals over all frames of the run: 6 motion parameters, their derivatives, 5 aCompCor
//     components of white matter, their derivatives, 5 of the ventricles, their derivatives; and
//     the squares of these 32, in the same order.
//  2. The first 5 frames are dropped, of the series and of the signals.
//  3. Each parcel's series loses its mean and its least-squares line; the signals stay as they are.
//  4. One least-squares solve for all parcels on an intercept and the signals. The result is the
//     residual.
//
// There is no censoring, no band-pass filter and no regression on the global signal. Where the
// pipeline takes pinv(X'X)X'Y, this package takes a QR decomposition of the centred and scaled
// columns, which gives the same residuals with fewer digits lost, and a singular value
// decomposition where columns depend on one another.
//
// The package imports the standard library and gonum, and nothing of the module. Invariants: inputs
// are never changed; residuals do not depend on the units or signs of the signals; every shortfall
// of the inputs is an error or a note.
package clean
