/**
 * How the tags of a report are written: a hundred thousand of them differ in nothing but their values.
 * What stands between those is compared as a whole, instead of being read once more.
 */
import { detach } from "./characters.ts";

/** Values of attributes as they are written, by name. */
export type TagAttributes = Record<string, string>;

/** All of a tag up to behind its last value. */
export interface TagBeginning {
  name: string;
  attributes: TagAttributes;
  /** Where it is to be read on. */
  end: number;
}

/** The same with all that stands around the values. */
export interface SpelledTag extends TagBeginning {
  leads: TagLead[];
}

/** What stands before the value of an attribute. */
export interface TagLead {
  attribute: string;
  /** From the value before, or the beginning of the tag, up to and with the quote. */
  text: string;
  quote: string;
}

interface TagForm {
  name: string;
  leads: TagLead[];
}

/** More than a tool has. A tag that has none of them is compared with all in vain. */
const MAX_FORMS = 8;

const SPACE = 0x20;
const SLASH = 0x2f;
const GREATER = 0x3e;

/** The forms that the tags of a report had so far. */
export class TagForms {
  // The one that fitted last comes first.
  readonly #forms: TagForm[] = [];

  /** Remembers how a tag is written that is right, and has none of the forms that are known. */
  learn({ name, leads }: SpelledTag): void {
    if (leads.length === 0) return;
    if (this.#forms.length === MAX_FORMS) this.#forms.pop();
    this.#forms.unshift({
      name,
      leads: leads.map((lead) => ({ ...lead, text: detach(lead.text) })),
    });
  }

  /**
   * The tag that begins there, if it is written as one before.
   *
   * @param valueCharacters what a value has at most
   */
  read(text: string, start: number, valueCharacters: number): TagBeginning | null {
    const forms = this.#forms;
    for (let at = 0; at < forms.length; at++) {
      const tag = readAs(forms[at]!, text, start, valueCharacters);
      if (tag === null) continue;
      if (at > 0) forms.unshift(...forms.splice(at, 1));
      return tag;
    }
    return null;
  }
}

// Called for each form and tag: its values are handed over one by one, not in an object.
function readAs(
  { name, leads }: TagForm,
  text: string,
  start: number,
  valueCharacters: number,
): TagBeginning | null {
  const attributes: TagAttributes = {};
  let end = start;
  for (let index = 0; index < leads.length; index++) {
    const lead = leads[index]!;
    if (!text.startsWith(lead.text, end)) return null;
    const valueStart = end + lead.text.length;
    const valueEnd = text.indexOf(lead.quote, valueStart);
    if (valueEnd === -1 || valueEnd - valueStart > valueCharacters) return null;
    attributes[lead.attribute] = text.slice(valueStart, valueEnd);
    end = valueEnd + 1;
  }
  // Else there is another attribute.
  let next = end;
  let code = text.charCodeAt(next);
  while (code === SPACE) code = text.charCodeAt(++next);
  return code === SLASH || code === GREATER ? { name, attributes, end } : null;
}
