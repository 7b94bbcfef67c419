// Tests: tests/lib/cli/commands/webhook_test.ts tests/lib/webhook/rules_test.ts
/** Signatures as Standard Webhooks describes them. */
import { Buffer } from "node:buffer";
import { createHmac, randomBytes } from "node:crypto";

const PREFIX = "whsec_";
const SECRET_BYTES = 32;

/** Makes a random secret, to be shown once. */
export function makeWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString("base64");
}

/** The headers of a message. @param timestamp of the attempt, in seconds since 1970 */
export function signatureHeaders(
  { messageId, timestamp, body, secret }: {
    messageId: string;
    timestamp: number;
    body: string;
    secret: string;
  },
): Record<string, string> {
  const key = Buffer.from(secret.slice(PREFIX.length), "base64");
  const signature = createHmac("sha256", key).update(`${messageId}.${timestamp}.${body}`)
    .digest("base64");
  return {
    "webhook-id": messageId,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": `v1,${signature}`,
  };
}
