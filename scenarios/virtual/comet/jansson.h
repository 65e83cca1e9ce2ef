/* Replaces jansson's header in the kernel build: the code that decides about packets uses no JSON, but its headers
 * declare functions that do. */
typedef struct json_t json_t;
