// What the tests of model directories share: the golden ones, copies to damage, and a model of any shape.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "heed/io/safetensors.h"
#include "heed/io/test_files.h"
#include "heed/models/directory.h"

namespace heed::models {

// Written by transformers, the last by heed; what they compute is transformers' of each.
inline const std::vector<std::string> kGoldenMarians = {"shared_relu", "separate_swish", "shared_half", "every_tensor",
                                                        "written_by_heed"};

inline std::string golden_marian(const std::string& name) {
  return std::string(HEED_SOURCE_DIR) + "/tests/golden/marian/" + name;
}

// A copy of a golden directory.
class DirectoryCopy {
 public:
  explicit DirectoryCopy(const std::string& name = "shared_relu") {
    for (const char* file : {"config.json", "model.safetensors"}) {
      put_content(path() + "/" + file, content_of(golden_marian(name) + "/" + file));
    }
  }
  std::string path() const { return folder_.file("."); }

  void edit_config(const std::function<void(nlohmann::json&)>& edit) const {
    nlohmann::json config = nlohmann::json::parse(content_of(path() + "/config.json"));
    edit(config);
    put_content(path() + "/config.json", config.dump());
  }
  void edit_tensors(const std::function<void(std::vector<TensorToWrite>&)>& edit) const {
    const std::string bytes = content_of(path() + "/model.safetensors");
    const SafeTensors file = SafeTensors::parse(std::as_bytes(std::span(bytes)), "copy");
    std::vector<TensorToWrite> tensors;
    for (const StoredTensor& t : file.tensors()) tensors.push_back({t.name, t.dtype, t.shape, t.bytes});
    edit(tensors);
    write_safetensors(path() + "/model.safetensors", tensors);
  }
  std::string refusal() const {
    return message_of([&] { load_translator(path()); });
  }

 private:
  TemporaryFolder folder_;
};

inline TensorToWrite& tensor_named(std::vector<TensorToWrite>& tensors, const std::string& name) {
  for (TensorToWrite& t : tensors) {
    if (t.name == name) return t;
  }
  fail("[test] no tensor {}", name);
}

}  // namespace heed::models
