/** `events.ts`, `retry.ts`, `signature.ts` and `address.ts`: what is sent, when, signed how, and to whom. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "@std/testing/bdd";
import { isPublicAddress, maskUrl, parseWebhookUrl } from "../../../lib/webhook/address.ts";
import { becomesFlaky, endingNoticeAt } from "../../../lib/webhook/events.ts";
import { retryDelay } from "../../../lib/webhook/retry.ts";
import { makeWebhookSecret, signatureHeaders } from "../../../lib/webhook/signature.ts";

const DAY = 86_400;

describe("a test", () => {
  const disruptions = (...versions: string[]) =>
    versions.map((codeVersion) => ({
      codeVersion: codeVersion.replace("*", ""),
      isNew: codeVersion.endsWith("*"),
    }));

  it("becomes flaky with its third disruption at a third code version, not before and not again", () => {
    assert.equal(becomesFlaky(disruptions("a", "b*")), false);
    assert.equal(becomesFlaky(disruptions("a", "a", "b*")), false);
    assert.equal(becomesFlaky(disruptions("a", "b", "c*")), true);
    assert.equal(becomesFlaky(disruptions("a*", "b", "c")), true);
    assert.equal(becomesFlaky(disruptions("a", "b", "c", "d*")), false);
  });
});

describe("the notice of an end", () => {
  it("is given 7 days before, of a short quarantine at half of its length", () => {
    const notice = (days: number) =>
      endingNoticeAt({ quarantinedAt: 0, quarantineExpiresAt: days * DAY });
    assert.equal(notice(30), 23 * DAY);
    assert.equal(notice(4), 2 * DAY);
  });
});

describe("retries", () => {
  it("begin after 5 s, end with pauses of up to 24 h, and stop after 3 days", () => {
    const delays: number[] = [];
    let now = 0;
    for (let attemptCount = 1;; attemptCount++) {
      const delay = retryDelay({ attemptCount, dueAt: 0, now, random: 0 });
      if (delay === null) break;
      delays.push(delay);
      now += delay;
    }
    assert.deepEqual(delays.slice(0, 9), [5, 20, 80, 320, 1280, 5120, 20480, 81920, 86400]);
    assert.equal(now, 3 * DAY);
  });

  it("are later if the receiver asks for it, by at most a day", () => {
    const delay = (retryAfter: number) =>
      retryDelay({ attemptCount: 1, dueAt: 0, now: 0, random: 0, retryAfter });
    assert.equal(delay(1), 5);
    assert.equal(delay(120), 120);
    assert.equal(delay(1_000_000), DAY);
  });

  it("are spread, so that receivers are not hit by all at once", () => {
    assert.equal(retryDelay({ attemptCount: 2, dueAt: 0, now: 0, random: 1 }), 22);
  });
});

describe("a signature", () => {
  it("is that of the example in the specification of Standard Webhooks", () => {
    assert.deepEqual(
      signatureHeaders({
        messageId: "msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp: 1614265330,
        body: '{"test": 2432232314}',
        secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      }),
      {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      },
    );
  });

  it("uses all 32 bytes of a new secret", () => {
    const secret = makeWebhookSecret();
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.notEqual(secret, makeWebhookSecret());
    const key = Uint8Array.fromBase64(secret.slice(6));
    assert.equal(key.length, 32);
    const { "webhook-signature": signature } = signatureHeaders({
      messageId: "msg_1",
      timestamp: 1,
      body: "é",
      secret,
    });
    assert.equal(
      signature,
      `v1,${createHmac("sha256", key).update("msg_1.1.é").digest("base64")}`,
    );
  });
});

describe("addresses", () => {
  it("are of the public internet or not", () => {
    for (
      const address of ["8.8.8.8", "172.32.0.1", "2606:4700::1111", "2001:4860:4860::8888"]
    ) assert.equal(isPublicAddress(address), true, address);
    for (
      const address of [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "fc00::1",
        "fe80::1%eth0",
        "ff02::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "2001::1",
        "",
        "localhost",
        "127.1",
      ]
    ) assert.equal(isPublicAddress(address), false, address);
  });

  it("are accepted for webhooks only with https, and on the public internet unless private ones are allowed", () => {
    const read = (text: string, allowPrivate = false) => () =>
      parseWebhookUrl(text, { allowPrivate });
    assert.equal(read("https://example.com/a?b=c")(), "https://example.com/a?b=c");
    for (const text of ["http://example.com/", "https://127.1/", "https://[::1]/"]) {
      assert.throws(read(text), /--allow-private/, text);
      assert.doesNotThrow(read(text, true));
    }
    assert.throws(read("https://0x7f000001/x"), /127\.0\.0\.1 is not an address/);
    for (const text of ["ftp://example.com", "example.com", "", "javascript:alert(1)"]) {
      assert.throws(read(text, true), /expected a URL that begins with https/, text);
    }
    assert.throws(read("https://me:secret@example.com/", true), (error: Error) => {
      assert.match(error.message, /without user and password/);
      return !error.message.includes("secret");
    });
    assert.throws(read("https://example.com/a#secret", true), (error: Error) => {
      assert.match(error.message, /without a fragment/);
      return !error.message.includes("secret");
    });
    assert.throws(read(`https://example.com/${"x".repeat(2_048)}`), /2068 characters/);
  });

  it("are shown without their path, which is often a secret", () => {
    assert.equal(maskUrl("https://example.com/"), "https://example.com");
    assert.equal(maskUrl("https://example.com:8443/short"), "https://example.com:8443/...");
    assert.equal(
      maskUrl("https://hooks.slack.com/services/T0/B0/Xv2aB3cD4eF5"),
      "https://hooks.slack.com/...4eF5",
    );
  });
});
