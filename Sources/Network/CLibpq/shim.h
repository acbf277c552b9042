// libpq's codes of error fields are character constants, which Swift's importer can't see.
#pragma once
#include <libpq-fe.h>

static inline const char *portcullis_result_state(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}

static inline const char *portcullis_result_message(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}
