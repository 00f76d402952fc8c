// heed doctor: what this machine has, and proof that heed computes rightly on it.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/base/threads.h"
#include "heed/cli/arguments.h"
#include "heed/cli/doctor_checks.h"
#include "heed/cli/measure.h"
#include "heed/cli/terminal.h"
#include "heed/kernels/cpu.h"
#include "heed/kernels/gemm.h"

namespace heed::cli {
namespace {

nlohmann::json machine() {
  return {{"cpu", kernels::cpu_name()},
          {"features", kernels::cpu_features()},
          {"kernels", kernels::isa_name()},
          {"bf16", kernels::has_native_bf16()},
          {"threads", num_threads()}};
}

std::string machine_text(const nlohmann::json& m) {
  std::string features;
  for (const auto& f : m["features"]) features += (features.empty() ? "" : ", ") + f.get<std::string>();
  return fmt::format("  CPU        {}\n  it has     {}\n  used       {} kernels, {} threads; bf16 products {}\n\n",
                     m["cpu"].get<std::string>(), features, m["kernels"].get<std::string>(), m["threads"].get<int>(),
                     m["bf16"].get<bool>() ? "are native" : "are not native here: training uses f32");
}

void examine(const Common& common) {
  const double start = now_seconds();
  nlohmann::json report = {{"machine", machine()}, {"checks", nlohmann::json::array()}};
  if (!common.json) print(machine_text(report["machine"]));
  int bad = 0, left_open = 0;
  for (const Check& check : doctor_checks()) {
    const Finding finding = check.run();
    const bool good = finding.verdict == Verdict::kGood, open = finding.verdict == Verdict::kOpen;
    bad += !good && !open;
    left_open += open;
    report["checks"].push_back(
        {{"name", check.name}, {"good", open ? nlohmann::json() : nlohmann::json(good)}, {"detail", finding.detail}});
    if (common.json) continue;
    print(fmt::format("  {} {}\n       {}\n", good ? "yes " : open ? "?   " : "NO  ", check.claim, finding.detail));
  }
  report["good"] = bad == 0;
  report["open"] = left_open;
  report["seconds"] = now_seconds() - start;
  if (common.json) print(report.dump() + "\n");
  if (bad) throw Failure(fmt::format("[doctor] {} of {} checks failed on this machine", bad, doctor_checks().size()));
  if (common.json) return;
  const std::string but =
      left_open ? fmt::format(", but {} of {} checks proved nothing", left_open, doctor_checks().size()) : "";
  print(fmt::format("\nAll is well{} ({:.1f} s).\n", but, now_seconds() - start));
}

}  // namespace

void add_doctor(CLI::App& parent, const Common& common) {
  CLI::App* app = add_command(parent, "doctor", "what this machine has, and proof that heed computes rightly on it",
                              "heed doctor\n  HEED_MAX_ISA=avx2 heed doctor");
  on_run(app, [&common] { examine(common); });
}

}  // namespace heed::cli
