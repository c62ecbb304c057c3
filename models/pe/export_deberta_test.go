package pe

// DeBERTaBucket is debertaBucket.
var DeBERTaBucket = debertaBucket
