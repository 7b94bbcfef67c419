// Tests: tests/lib/report/archive/contents_test.ts tests/lib/report/archive/metadata_test.ts
/** Archives of reports as they arrive from CI: gzip'd tars with reports, coverage and metadata. */
export * from "./contents.ts";
export * from "./metadata.ts";
export * from "./write_archive.ts";
