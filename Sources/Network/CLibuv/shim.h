// libuv imports as it is. Linux's timer files stand here because what they are made for is libuv's loop.
#pragma once
#include <sys/timerfd.h>
#include <uv.h>
