/* SPDX-License-Identifier: MIT */
/* Hashes of passwords; see password_hash.h. */
#include "password_hash.h"

#include <crypt.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#define PBKDF2_SIZE 64
#define PBKDF2_SALT_MAX 128
#define PBKDF2_ITERATIONS_MAX 10000000 /* some 10 s */

struct pbkdf2 {
	int iterations;
	int salt_size;
	unsigned char salt[PBKDF2_SALT_MAX];
	unsigned char key[PBKDF2_SIZE];
};

/*
 * Decodes base64 with padding; returns its size, or -1: it is none, or has more than `most` bytes.
 */
static int base64_decode(const char *text, size_t size, unsigned char *out, size_t most)
{
	unsigned char bytes[PASSWORD_HASH_SIZE];
	int padding = 0, decoded;

	if (size == 0 || size % 4 != 0 || size / 4 * 3 > sizeof(bytes))
		return -1;
	while (padding < 2 && text[size - 1 - (size_t)padding] == '=')
		padding++;
	decoded = EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)size) - padding;
	if (decoded < 0 || (size_t)decoded > most)
		return -1;
	memcpy(out, bytes, (size_t)decoded);
	return decoded;
}

/* Is it a hash of mosquitto_passwd? crypt(3) has a method with the prefix $7$, too. */
static bool pbkdf2_parse(const char *hash, struct pbkdf2 *pbkdf2)
{
	const char *salt, *key;
	char *end;
	long iterations;

	if (strncmp(hash, "$7$", 3) != 0 || hash[3] < '1' || hash[3] > '9')
		return false;
	iterations = strtol(hash + 3, &end, 10);
	if (*end != '$' || iterations > PBKDF2_ITERATIONS_MAX)
		return false;
	salt = end + 1;
	key = strchr(salt, '$');
	if (key == NULL)
		return false;
	pbkdf2->iterations = (int)iterations;
	pbkdf2->salt_size =
		base64_decode(salt, (size_t)(key - salt), pbkdf2->salt, sizeof(pbkdf2->salt));
	return pbkdf2->salt_size >= 0 &&
	       base64_decode(key + 1, strlen(key + 1), pbkdf2->key, PBKDF2_SIZE) == PBKDF2_SIZE;
}

static bool pbkdf2_fits(const struct pbkdf2 *pbkdf2, const char *password)
{
	unsigned char key[PBKDF2_SIZE];

	return PKCS5_PBKDF2_HMAC(password, (int)strlen(password), pbkdf2->salt, pbkdf2->salt_size,
	                         pbkdf2->iterations, EVP_sha512(), PBKDF2_SIZE, key) == 1 &&
	       CRYPTO_memcmp(key, pbkdf2->key, PBKDF2_SIZE) == 0;
}

/*
 * A hash without `$` is one of DES or, more likely, the password itself. mosquitto_passwd before
 * 2.0 wrote `$6$` and one round of SHA-512, which ends in `=`, as no hash of crypt(3) does;
 * crypt_checksalt() takes that for its own.
 */
const char *password_hash_wrong(const char *hash)
{
	const int verdict = crypt_checksalt(hash);
	const size_t size = strlen(hash);
	struct pbkdf2 pbkdf2;

	if (size < PASSWORD_HASH_SIZE && pbkdf2_parse(hash, &pbkdf2))
		return NULL;
	if (hash[0] == '$' && hash[size - 1] == '=')
		return "a hash of an old mosquitto_passwd, or a damaged one: mosquitto_passwd 2.0, "
		       "or `openssl passwd -6`, makes one";
	if (hash[0] != '$' || size >= PASSWORD_HASH_SIZE || verdict == CRYPT_SALT_INVALID ||
	    verdict == CRYPT_SALT_METHOD_DISABLED)
		return "this hash is not one that crypt(3) knows";
	return NULL;
}

static bool crypt_fits(const char *hash, const char *password)
{
	struct crypt_data *data = calloc(1, sizeof(*data)); /* 32 KB, too much for the stack */
	const size_t size = strlen(hash);
	const char *computed;
	bool fits;

	if (data == NULL)
		return false;
	computed = crypt_r(password, hash, data);
	/* The time does not depend on where the hashes differ. */
	fits = computed != NULL && computed[0] != '*' && strlen(computed) == size &&
	       CRYPTO_memcmp(computed, hash, size) == 0;
	explicit_bzero(data, sizeof(*data));
	free(data);
	return fits;
}

bool password_hash_fits(const char *hash, const char *password)
{
	struct pbkdf2 pbkdf2;

	return pbkdf2_parse(hash, &pbkdf2) ? pbkdf2_fits(&pbkdf2, password)
	                                   : crypt_fits(hash, password);
}
