// libuv imports as it is.
#pragma once
#include <uv.h>
