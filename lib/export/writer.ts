// Tests: tests/lib/cli/commands/export_test.ts
import { createHash } from "node:crypto";
import { type ContentRecord, type ExportRecord, FORMAT_VERSION, formatRecord } from "./records.ts";

/** Makes the text of an export: its first line, its records, and the line that ends it. */
export class ExportWriter {
  readonly #hash = createHash("sha256");
  #count = 0;

  /**
   * @param exportedAt seconds since 1970
   * @param program version and commit of the program that writes it
   */
  header(exportedAt: number, program: string): string {
    const header = { type: "export", format: FORMAT_VERSION, program } as const;
    return this.#lines([{ ...header, exported_at: exportedAt }]);
  }

  records(records: readonly ContentRecord[]): string {
    return this.#lines(records);
  }

  /** The last line, by which a reader notices that lines are missing or were changed. */
  end(): string {
    const sha256 = this.#hash.copy().digest("hex");
    return formatRecord({ type: "end", records: this.#count, sha256 });
  }

  #lines(records: readonly ExportRecord[]): string {
    const text = records.map(formatRecord).join("");
    this.#hash.update(text);
    this.#count += records.length;
    return text;
  }
}
