// Tests: tests/lib/report/coverage/fixtures_test.ts
/** The table of the coverage formats. A report is one of the first format that fits its content. */
import { COVERAGE_PY, ISTANBUL, ISTANBUL_SUMMARY, SIMPLECOV } from "./json_formats.ts";
import { GO, LCOV } from "./text.ts";
import { CLOVER, COBERTURA, JACOCO } from "./xml_formats.ts";

export const TEXT_FORMATS = [LCOV, GO];
export const XML_FORMATS = [COBERTURA, JACOCO, CLOVER];
export const JSON_FORMATS = [COVERAGE_PY, SIMPLECOV, ISTANBUL_SUMMARY, ISTANBUL];

export const FORMAT_NAMES: readonly string[] = [
  ...new Set([...TEXT_FORMATS, ...XML_FORMATS, ...JSON_FORMATS].map(({ name }) => name)),
];
