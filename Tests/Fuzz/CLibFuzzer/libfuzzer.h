// libFuzzer's driver, as its FuzzerInterface.h declares it: the toolchain has the library and no header for it.
#ifndef PORTCULLIS_LIBFUZZER_H
#define PORTCULLIS_LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));

#endif
