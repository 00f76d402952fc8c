// Timing: what the machine can do, and the best and median of repeated runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heed::cli {

double now_seconds();
double median(std::vector<double> values);
// GFLOP/s of the fastest product seen, with the threads in use: the wall that training in that precision is measured against.
double product_peak(double seconds, bool bf16);
// GFLOP/s of one product of this shape, best of the runs that fit the time.
double product_speed(int64_t M, int64_t N, int64_t K, bool bf16, double seconds);
// Seconds in which the threads in use read all pieces once, the faster of two ways: the wall of what reads its weights once.
using Bytes = std::span<const std::byte>;
double read_seconds(std::span<const Bytes> pieces);

}  // namespace heed::cli
