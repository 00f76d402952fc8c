// Ctrl-C and SIGTERM while a model trains: the first asks it to save and stop, the second ends at once.
#pragma once

namespace heed::cli {

// From here on signals are counted; the first says so on standard error, unless `quiet`.
void catch_interrupts(bool quiet);
// From here on a signal ends the program as usual.
void release_interrupts();
bool interrupted();

}  // namespace heed::cli
