import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { DEFAULT_API_URL, readApiSettings } from "../../../lib/api_client/api_settings.ts";

describe("settings of the API client", () => {
  it("use the production address by default", () => {
    for (const url of [undefined, "", " "]) {
      const settings = readApiSettings({ PLATFORM_API_TOKEN: "tk_1", PLATFORM_API_URL: url });
      assert.equal(settings.baseUrl, DEFAULT_API_URL);
    }
  });

  it("keep a path prefix and drop slashes at the end", () => {
    const read = (url: string) =>
      readApiSettings({ PLATFORM_API_TOKEN: "tk_1", PLATFORM_API_URL: url }).baseUrl;
    assert.equal(read("https://ci.example.com/analytics//"), "https://ci.example.com/analytics");
    assert.equal(read("HTTP://CI.example.com:80/"), "http://ci.example.com");
  });

  it("trim the token", () => {
    assert.equal(readApiSettings({ PLATFORM_API_TOKEN: " tk_1\n" }).token, "tk_1");
  });

  it("need a token", () => {
    for (const token of [undefined, "", " \n"]) {
      assert.throws(
        () => readApiSettings({ PLATFORM_API_TOKEN: token }),
        { name: "TypeError", message: /PLATFORM_API_TOKEN is missing/ },
      );
    }
  });

  it("reject an impossible token without quoting it", () => {
    for (const token of ["secret one", "secr\u00e9t", "secret\nx-header: 1"]) {
      assert.throws(() => readApiSettings({ PLATFORM_API_TOKEN: token }), (error: TypeError) => {
        assert.match(error.message, /PLATFORM_API_TOKEN/);
        assert.doesNotMatch(error.message, /secr/);
        return true;
      });
    }
  });

  it("name another type of token, without quoting it", () => {
    const digits = "0f".repeat(32);
    for (
      const [token, message] of [
        [
          `up_${digits}`,
          /PLATFORM_API_TOKEN has an upload token, which only uploads: expected an API/,
        ],
        [`qt_${digits}`, /has a quarantine token/],
        [`bd_${digits}`, /has a badge token/],
      ] as const
    ) {
      assert.throws(() => readApiSettings({ PLATFORM_API_TOKEN: token }), (error: TypeError) => {
        assert.match(error.message, message);
        assert.ok(!error.message.includes("0f0f"));
        return true;
      });
    }
  });

  it("reject an invalid base address", () => {
    for (const url of ["localhost:8000", "ftp://a", "https://a?b=c", "https://a#b", "/api"]) {
      assert.throws(
        () => readApiSettings({ PLATFORM_API_TOKEN: "tk_1", PLATFORM_API_URL: url }),
        { name: "TypeError", message: /PLATFORM_API_URL is not a base address/ },
      );
    }
  });

  it("reject a password in the address without quoting it", () => {
    assert.throws(
      () =>
        readApiSettings({ PLATFORM_API_TOKEN: "tk_1", PLATFORM_API_URL: "https://me:hidden@a" }),
      (error: TypeError) => /password/.test(error.message) && !error.message.includes("hidden"),
    );
  });
});
