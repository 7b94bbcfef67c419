/** Untrusted text in Markdown of GitHub, Forgejo, Gitea and GitLab. */
import { markdownCode, showDirections } from "../base/text.ts";

/**
 * A name or message as inline code of at most `limit` characters: no mention, link, image, tag, HTML
 * comment or quick action in it takes effect. Put it after another character of the line.
 */
export function safeCode(text: string, limit: number): string {
  const line = showDirections(text.toWellFormed().replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, " "))
    .trim();
  // Two back ticks with nothing between them are no code.
  if (line === "") return "(empty)";
  const characters = [...line];
  const shown = characters.length <= limit ? line : `${characters.slice(0, limit).join("")}...`;
  return markdownCode(shown);
}
