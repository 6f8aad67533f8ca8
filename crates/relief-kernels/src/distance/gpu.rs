//! NOTE to helpers: the GPU half of `distance` is written by a helper of its own (not by the author of
//! `device` and `fused`). Leave this file to it.
