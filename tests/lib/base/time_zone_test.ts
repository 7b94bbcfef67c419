import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  formatOffset,
  localDate,
  localDay,
  localSeconds,
  parseTimeZone,
  UTC,
} from "../../../lib/base/time_zone.ts";
import { formatTimestamp, parseTimestamp } from "../../../lib/base/time.ts";

describe("a time zone", () => {
  it("is named as the IANA database does, in any case", () => {
    assert.equal(parseTimeZone("europe/BERLIN").name, "Europe/Berlin");
    assert.equal(parseTimeZone("America/Argentina/Buenos_Aires").offsetAt(0), -3 * 3600);
    assert.equal(parseTimeZone("utc"), UTC);
  });

  it("is refused with a message if the name is unknown", () => {
    const names = [
      "",
      "Mars/Olympus",
      "+01:00",
      "2026-01-01T00:00Z[Europe/Berlin]",
      "Europe/Berlin\n",
      "a/".repeat(40),
      "<script>",
    ];
    for (const name of names) {
      assert.throws(() => parseTimeZone(name), {
        name: "RangeError",
        message: /^invalid time zone ".*": expected a name of the IANA database, such as E/s,
      }, name);
    }
  });

  it("follows daylight saving time", () => {
    const berlin = parseTimeZone("Europe/Berlin");
    const local = (text: string) => formatTimestamp(localSeconds(parseTimestamp(text), berlin));
    assert.equal(local("2026-03-29T00:59:59Z"), "2026-03-29T01:59:59Z");
    assert.equal(local("2026-03-29T01:00:00Z"), "2026-03-29T03:00:00Z");
    assert.equal(local("2026-10-25T01:00:00Z"), "2026-10-25T02:00:00Z");
  });

  it("has days of its own", () => {
    const tokyo = parseTimeZone("Asia/Tokyo");
    assert.equal(localDate("2026-09-21T15:00:00Z", tokyo), "2026-09-22");
    assert.equal(localDate("2026-09-21T14:59:59Z", tokyo), "2026-09-21");
    assert.equal(localDate("2026-09-21T23:59:59Z", UTC), "2026-09-21");
    assert.equal(localDay(-1, UTC), -1);
    assert.equal(localDay(-1, tokyo), 0);
  });

  it("is distinguished by its difference from UTC", () => {
    const offset = (name: string, text: string) =>
      formatOffset(parseTimestamp(text), parseTimeZone(name));
    assert.equal(offset("Europe/Berlin", "2026-07-01T00:00:00Z"), "UTC+2");
    assert.equal(offset("Europe/London", "2026-01-01T00:00:00Z"), "UTC");
    assert.equal(offset("America/St_Johns", "2026-01-01T00:00:00Z"), "UTC\u22123:30");
    assert.equal(offset("Asia/Kathmandu", "2026-01-01T00:00:00Z"), "UTC+5:45");
  });
});
