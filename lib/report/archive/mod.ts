/** Archives of reports as they arrive from CI: gzip'd tars with reports, coverage and metadata. */
export * from "./contents.ts";
export * from "./metadata.ts";
export * from "./write_archive.ts";
