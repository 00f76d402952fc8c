#include <heed/base/random.h>
#include <cstdio>
int main() { heed::Random r(1); for (int i = 0; i < 3; ++i) std::printf("loss %f\n", 3 - i + 0.1 * r.uniform()); }
