// How the translations of a line's parts become one text again.
#pragma once

#include <string_view>

namespace heed::tasks {

// What stands between two texts that follow one another: a blank, or nothing where one is there already or the writing of
// both has none (Chinese, Japanese), unless they show that they put blanks between its words.
std::string_view joint(std::string_view before, std::string_view after);

}  // namespace heed::tasks
