// The fused multiply-adds a second that the registers of all threads reach: what no product can pass.
#pragma once

namespace heed::kernels {

double fma_gflops(double seconds);

}  // namespace heed::kernels
