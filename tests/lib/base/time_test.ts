import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  formatTimestamp,
  parseDay,
  parseTimestamp,
  SECONDS_PER_DAY,
  WINDOW_SECONDS,
} from "../../../lib/base/time.ts";

// The same cases each time, so that no run fails by chance.
fc.configureGlobal({ seed: 1 });

const FIRST = -62_167_219_200;
const LAST = 253_402_300_799;
const EXPECTED =
  "expected a day and time that exist, in RFC 3339 with a zone, such as 2026-01-31T08:00:00Z";

describe("the window", () => {
  it("is 14 days long", () => {
    assert.equal(
      parseTimestamp("2026-01-15T00:00:00Z") - parseTimestamp("2026-01-01T00:00:00Z"),
      WINDOW_SECONDS,
    );
  });
});

describe("a moment is written", () => {
  it("in UTC with whole seconds", () => {
    assert.equal(formatTimestamp(0), "1970-01-01T00:00:00Z");
    assert.equal(formatTimestamp(1_769_846_400), "2026-01-31T08:00:00Z");
    assert.equal(formatTimestamp(-1), "1969-12-31T23:59:59Z");
  });

  it("within four digits of a year, and refused outside", () => {
    assert.equal(formatTimestamp(FIRST), "0000-01-01T00:00:00Z");
    assert.equal(formatTimestamp(LAST), "9999-12-31T23:59:59Z");
    for (const seconds of [FIRST - 1, LAST + 1, NaN, Infinity, -Infinity]) {
      assert.throws(() => formatTimestamp(seconds), {
        name: "RangeError",
        message: `invalid time ${seconds}: expected seconds within the years 0000 to 9999`,
      });
    }
  });

  it("so that it reads back as the same moment", () => {
    fc.assert(fc.property(fc.integer({ min: FIRST, max: LAST }), (seconds) => {
      assert.equal(parseTimestamp(formatTimestamp(seconds)), seconds);
    }));
  });
});

describe("a day is read", () => {
  it("as days since 1970, as the calendar of the platform has them", () => {
    fc.assert(fc.property(fc.integer({ min: FIRST, max: LAST }), (seconds) => {
      const days = Math.floor(seconds / SECONDS_PER_DAY);
      assert.equal(parseDay(formatTimestamp(seconds).slice(0, 10)), days);
    }));
    for (
      const [text, days] of [["1970-01-01", 0], ["2000-02-29", 11_016], ["0000-02-29", -719_469]]
    ) {
      assert.equal(parseDay(String(text)), days);
    }
  });

  it("unless the calendar has no such day", () => {
    for (
      const text of [
        "2026-02-29",
        "1900-02-29",
        "2026-04-31",
        "2026-13-01",
        "2026-00-10",
        "2026-01-00",
        "2026-1-01",
        " 2026-01-01",
        "2026-01-01T",
        "",
      ]
    ) assert.equal(parseDay(text), null, text);
  });
});

describe("a time stamp is read", () => {
  const eight = 1_769_846_400;

  for (
    const text of [
      "2026-01-31T08:00:00Z",
      "2026-01-31t08:00:00z",
      "2026-01-31 08:00:00Z",
      "2026-01-31T08:00:00+00:00",
      "2026-01-31T08:00:00-00:00",
      "2026-01-31T09:00:00+01:00",
      "2026-01-31T13:45:00+05:45",
      "2026-01-31T04:30:00-03:30",
      "2026-02-01T07:59:00+23:59",
      "2026-01-30T08:01:00-23:59",
      "2026-01-31T08:00:00.999999999Z",
    ]
  ) {
    it(`as the same moment in each of its spellings: ${text}`, () => {
      assert.equal(parseTimestamp(text), eight);
    });
  }

  it("cutting fractions before 1970 too", () => {
    assert.equal(parseTimestamp("1969-12-31T23:59:58.9Z"), -2);
  });

  it("with a leap second as the second before it", () => {
    assert.equal(
      parseTimestamp("2016-12-31T23:59:60Z"),
      parseTimestamp("2016-12-31T23:59:59Z"),
    );
  });

  it("on a leap day", () => {
    assert.equal(
      parseTimestamp("2028-03-01T00:00:00Z") - parseTimestamp("2028-02-29T00:00:00Z"),
      86_400,
    );
  });

  for (
    const text of [
      "",
      "yesterday",
      "1769846400",
      "2026-01-31",
      "2026-01-31T08:00Z",
      "2026-01-31T08:00:00",
      "2026-01-31T08:00:00 Z",
      " 2026-01-31T08:00:00Z",
      "2026-01-31T08:00:00Z\n",
      "2026-01-31T08:00:00.Z",
      "2026-01-31T08:00:00+0100",
      "2026-01-31T08:00:00+01",
      "26-01-31T08:00:00Z",
      "+002026-01-31T08:00:00Z",
      "２０２６-01-31T08:00:00Z",
    ]
  ) {
    it(`only in its form, so not from ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseTimestamp(text), {
        name: "SyntaxError",
        message: `invalid timestamp "${text}": ${EXPECTED}`,
      });
    });
  }

  for (
    const text of [
      "2026-02-30T08:00:00Z",
      "2026-02-29T08:00:00Z",
      "2026-04-31T08:00:00Z",
      "2026-13-01T08:00:00Z",
      "2026-00-10T08:00:00Z",
      "2026-01-00T08:00:00Z",
      "2026-01-31T24:00:00Z",
      "2026-01-31T08:60:00Z",
      "2026-01-31T08:00:61Z",
      "2026-01-31T08:00:00+24:00",
      "2026-01-31T08:00:00-01:60",
    ]
  ) {
    it(`only from the calendar and the clock, so not from ${text}`, () => {
      assert.throws(() => parseTimestamp(text), {
        name: "SyntaxError",
        message: `invalid timestamp "${text}": ${EXPECTED}`,
      });
    });
  }

  for (const text of ["9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01"]) {
    it(`only where it can be written again, so not from ${text}`, () => {
      assert.throws(() => parseTimestamp(text), {
        name: "SyntaxError",
        message: `invalid timestamp "${text}": ${EXPECTED}`,
      });
    });
  }
});
