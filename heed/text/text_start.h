// Which id a tokenizer puts before a text, in its files.
#pragma once

#include <string>

#include "heed/text/tokenizer_files.h"

namespace heed::text {

// The files of a tokenizer that puts no id before a text, changed so that it puts this one, here and in transformers.
// `folder` begins messages.
void begin_texts_with(NamedFiles& files, int32_t id, const std::string& folder);

}  // namespace heed::text
