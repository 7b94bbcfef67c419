/** Attributes of an element, by their names as they are written. */
export type XmlAttributes = Readonly<Record<string, string | undefined>>;

/** Hears what is in a document, in its order. */
export interface XmlHandler {
  /**
   * An element begins.
   *
   * @param name without its namespace prefix
   */
  open(name: string, attributes: XmlAttributes): void;
  /** The innermost open element ends. */
  close(): void;
  /**
   * An element that ends where it begins. Told in the place of both where it is written plainly; of
   * others, and where there is no such function, both are told.
   */
  empty?(name: string, attributes: XmlAttributes): void;
}
