// A SentencePiece file whose own ids are the model's: LLaMA's tokenizer.model.
#pragma once

#include <memory>
#include <string>

#include "heed/text/tokenizer_files.h"

namespace heed::text {

std::shared_ptr<const Tokenizer> read_spm_tokenizer(const NamedFiles& files, const std::string& folder);

}  // namespace heed::text
