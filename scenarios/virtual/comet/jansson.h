/* In the place of jansson's header where the kernel is built: what decides about packets knows no JSON, but headers
 * declare functions of the box that do. */
typedef struct json_t json_t;
