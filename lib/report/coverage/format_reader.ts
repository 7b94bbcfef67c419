/** Readers of XML and text formats, by how they receive a report. They may throw a `Refusal`. */

/** Attributes of an XML element. */
export type Attributes = Readonly<Record<string, string | undefined>>;

/** Reads a report of XML elements in document order. */
export interface ElementReader {
  open(name: string, attributes: Attributes): void;
  close(name: string): void;
}

export interface LineReader {
  /** Called with every line that is not blank, trimmed. */
  take(line: string): void;
  end?(): void;
}
