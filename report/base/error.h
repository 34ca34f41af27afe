/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of the tool. A function that can fail returns NULL on success or an error that its
 * caller owns: it either returns the error in turn, or prints and destroys it.
 */
#ifndef TH_REPORT_BASE_ERROR_H
#define TH_REPORT_BASE_ERROR_H

/* Kind of error; determines the exit status. */
enum th_error_code {
	TH_ERROR_USAGE,      /* invalid command line */
	TH_ERROR_UNREADABLE, /* the input cannot be read */
	TH_ERROR_OUTPUT,     /* the result cannot be written to its destination */
	TH_ERROR_REFUSED,    /* the process cannot fulfill a request */
	TH_ERROR_NOTHING,    /* the options select no sample */
	/* Why attach cannot load the library; one exit status each. */
	TH_ERROR_OTHER_USER,
	TH_ERROR_NO_VM,
	TH_ERROR_ATTACH_DISABLED,
	TH_ERROR_NO_SIGNAL,
	TH_ERROR_AGENTS_DISABLED,
	TH_ERROR_NOT_LOADED,
	/* For the command that `run` starts, as in shells and env(1). */
	TH_ERROR_NOT_EXECUTABLE,
	TH_ERROR_NOT_FOUND,
};

struct th_error;

/*
 * A new error; the message is one line without a full stop, and printable whatever it quotes.
 * Never NULL.
 */
struct th_error *th_error_create(enum th_error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* As th_error_create, with ": " and the text of errno appended to the message. */
struct th_error *th_error_create_errno(enum th_error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The message, valid until the error is destroyed. */
const char *th_error_message(const struct th_error *error);

enum th_error_code th_error_code(const struct th_error *error);

/* NULL is legal. */
void th_error_destroy(struct th_error *error);

/*
 * Prints the error as one line to stderr, destroys it and returns its exit status: 0 for NULL,
 * 2 for usage and output, 3 for unreadable input, 4 for refused requests, 8 for options that select
 * nothing, 10 to 15 for attach, in the order above, 126 and 127 for a command that cannot be executed or is not found.
 */
int th_error_report(struct th_error *error);

/* Prints one line to stderr that is not an error; printable whatever it quotes. */
void th_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
