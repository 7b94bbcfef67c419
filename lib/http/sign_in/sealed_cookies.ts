// Tests: tests/lib/http/sign_in/sign_in_test.ts
/** Cookies that only this service can read and make: encrypted and signed, with an end. */
import { EncryptJWT, jwtDecrypt } from "jose";
import { createHmac, hkdfSync, scryptSync, timingSafeEqual } from "node:crypto";
import * as v from "valibot";

/** Larger than any that this service makes. */
const MAX_CHARACTERS = 4_096;

const ALGORITHMS = { alg: "dir", enc: "A256GCM" } as const;

/**
 * About 50 ms and 16 MB for each guess of a secret: with a cookie, which everybody gets who begins to sign in,
 * guesses can be tried elsewhere.
 */
const SLOWNESS = { N: 2 ** 14, r: 8, p: 1 };

/** Seals and opens cookies with a key that follows from a secret, slowly: a restart changes nothing. */
export function createSeal(secret: string) {
  const root = scryptSync(secret, "test-analytics sign-in", 32, SLOWNESS);
  const keyFor = (use: string) =>
    new Uint8Array(hkdfSync("sha256", root, "", `test-analytics ${use}`, 32));
  const key = keyFor("cookies");
  const formKey = keyFor("forms");

  /** @param options.purpose a cookie for one purpose is worthless for another */
  async function seal(
    content: Record<string, string | string[]>,
    { purpose, now, seconds }: { purpose: string; now: number; seconds: number },
  ): Promise<string> {
    return await new EncryptJWT(content).setProtectedHeader(ALGORITHMS).setAudience(purpose)
      .setIssuedAt(now).setExpirationTime(now + seconds).encrypt(key);
  }

  /** The content of a sealed cookie; `null` when it was changed, has ended or is for something else. */
  async function open<Schema extends v.GenericSchema>(
    text: string,
    { purpose, now, schema }: { purpose: string; now: number; schema: Schema },
  ): Promise<v.InferOutput<Schema> | null> {
    if (text === "" || text.length > MAX_CHARACTERS) return null;
    try {
      const { payload } = await jwtDecrypt(text, key, {
        audience: purpose,
        currentDate: new Date(now * 1000),
        keyManagementAlgorithms: [ALGORITHMS.alg],
        contentEncryptionAlgorithms: [ALGORITHMS.enc],
        requiredClaims: ["exp"],
      });
      const read = v.safeParse(schema, payload);
      return read.success ? read.output : null;
    } catch {
      return null;
    }
  }

  /** What the forms of a session send along: no other site, and no other session, knows it. */
  function formToken(cookie: string): string {
    return createHmac("sha256", formKey).update(cookie).digest("base64url");
  }

  return { seal, open, formToken };
}

/** Compares in a time that says nothing about the difference. */
export function isEqual(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map((text) => new TextEncoder().encode(text));
  return a!.length === b!.length && timingSafeEqual(a!, b!);
}

/** The value of a cookie of a request, `""` when it has none. */
export function cookieOf(headers: Headers, name: string): string {
  for (const part of (headers.get("cookie") ?? "").split(";")) {
    const [, key, value = ""] = /^\s*([^=\s]+)=(\S*)\s*$/.exec(part) ?? [];
    if (key === name) return value;
  }
  return "";
}
