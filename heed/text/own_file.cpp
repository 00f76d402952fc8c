#include "heed/text/own_file.h"

#include "heed/base/error.h"
#include "heed/io/bounded_json.h"
#include "heed/io/printable.h"

namespace heed::text {

nlohmann::ordered_json read_own_file(const std::string& json, const nlohmann::ordered_json& expected,
                                     const std::string& label, size_t max_bytes) {
  auto found = json.size() > max_bytes ? nlohmann::ordered_json(nlohmann::ordered_json::value_t::discarded)
                                       : parse_bounded<nlohmann::ordered_json>(json);
  if (!found.is_object()) fail_file("[tokenizer] {}: not a JSON object", label);
  for (const auto& [name, value] : expected.items()) {
    if (!found.contains(name)) fail_file("[tokenizer] {}: lacks '{}'", label, name);
    if (found[name] != value) {
      const std::string text = found[name].is_structured() ? "a list or object" : found[name].dump(-1, ' ', true);
      fail_file("[tokenizer] {}: '{}' is {}, expected {}", label, name, printable(text, 64), value.dump());
    }
  }
  return found;
}

}  // namespace heed::text
