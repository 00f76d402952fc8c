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

int32_t own_bos(const nlohmann::ordered_json& file, int32_t special, const std::string& label) {
  const auto found = file.find("bos");
  if (found == file.end()) return -1;
  if (!found->is_number_unsigned() || found->get<uint64_t>() >= static_cast<uint64_t>(special)) {
    const std::string text = found->is_structured() ? "a list or object" : found->dump(-1, ' ', true);
    fail_file("[tokenizer] {}: 'bos' is {}, expected an id below {}", label, printable(text, 64), special);
  }
  return found->get<int32_t>();
}

}  // namespace heed::text
