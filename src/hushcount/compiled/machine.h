/* What all of these files ask of the machine and of the compiler. */

#include <float.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "doubles are computed in longer registers here; the package does without these files"
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "texts are read as little-endian words; the package does without these files"
#endif

#define API __attribute__((visibility("default")))
/* Compiled twice, the second time for machines that work on 32 bytes at once: each operation is rounded as before. */
#if defined(__x86_64__) && defined(__GLIBC__)
#define CLONED __attribute__((target_clones("avx2", "default")))
#else
#define CLONED
#endif
