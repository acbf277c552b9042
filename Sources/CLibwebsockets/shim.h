// What Swift's importer can't see of libwebsockets: option constants whose macros are expressions.
#pragma once
#include <libwebsockets.h>
