// Tests: tests/lib/analysis/failure_groups_test.ts
/**
 * What varies from run to run in messages of one cause, and what does not. A stored fingerprint was computed
 * by the rules of its time: docs/reference/failure_groups.md says what a change of them means.
 */

/** Text that is replaced because it varies, or kept although a later rule would match it. */
interface CauseRule {
  /** As in the reference. */
  name: string;
  /** Has no capturing groups; the case is ignored. Takes linear time: any text comes here. */
  pattern: RegExp;
  /** What replaces the text; `null` when it stays. */
  replacement: string | null | ((text: string) => string);
}

const { raw } = String;

// Text between the two numbers of a comparison: " == ", "> but was: <".
const GAP = raw`[^\w]{1,5}(?:(?:actual|be|but|code|deeply|equal|expected|got|instead|is|not|of|` +
  raw`received|returned|status|than|to|vs|want|was)[^\w]{1,5}){0,5}`;
const HTTP_STATUS = raw`[1-5]\d\d(?!\w|[.,]\d)`;
const COMMON_HTTP_STATUS = raw`(?:20[0-6]|30[1-478]|4[01]\d|42[2-9]|50[0-4])(?!\w|[.,]\d)`;

const HALF_OF_DAY = raw`[ \u202f]?[AP]M(?!\w)`;
const CLOCK = raw`\d\d?:\d\d(?::\d\d(?:[.,]\d+)?(?:${HALF_OF_DAY})?|${HALF_OF_DAY})`;
const ZONE = raw`(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)(?!\w)){0,2}`;
const ZONE_NAME =
  raw`(?:UTC|GMT(?:[+-]\d\d:\d\d)?|[CEW]ES?T|[ACEMP][SD]T|[BHIJK]ST|MSK|A[CEW][SD]T|NZ[SD]T)`;
const DAY = raw`(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? `;
const MONTH =
  raw`(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|` +
  raw`Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)`;

const FILE_NAME = raw`[a-z_-]+(?:\.[a-z]+)+(?![\w.\\/-])`;
const TEMPORARY_FOLDER = raw`(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)|` +
  raw`/home/runner/work/_temp|` +
  raw`[a-z]:[\\/]Users[\\/][^\s\\/]{1,64}[\\/]AppData[\\/]Local[\\/]Temp|` +
  raw`[a-z]:[\\/](?:Windows[\\/])?Temp`;

const IP_V6 = raw`(?:[\da-f]{1,4}(?::[\da-f]{1,4}){0,6})?::(?=[a-f:]*\d)` +
  raw`[\da-f]{1,5}(?::[\da-f]{1,5}){0,7}(?!\w)`;
const FULL_IP_V6 = raw`(?:[\da-f]{1,4}:){7}[\da-f]{1,4}(?![\w:])`;
const MAC = raw`[\da-f]{2}(?::[\da-f]{2}){5,31}(?![\w:])`;

// What Kubernetes appends to names has neither vowels nor the digits that look like them.
const podCharacters = (length: string) => `[bcdfghjklmnpqrstvwxz2456789]{${length}}`;
const POD_SUFFIX = raw`(?=[a-z]*\d)${podCharacters("8,10")}-${podCharacters("5")}(?![\w-])`;

// Digits on both sides of letters, a pod, or many characters without a separator.
const RANDOM_LOOKING = raw`(?:(?=[\w.+=~-]{0,99}?\d[a-z]{1,30}\d)[\w.+=~-]{8,128}|` +
  raw`[a-z\d][a-z\d.-]{0,99}?-${POD_SUFFIX}|(?=[a-z]*\d)[a-z\d]{20,128})`;

// Words with a capital or a separator between them. A random value has single letters as well.
const CAMEL_CASE =
  /^(?=.*[a-z]\d{0,3}[A-Z][a-z])(?:(?:[A-Z][a-z]+|[a-z]{2,}|[Vv](?=\d))\d{0,3}(?:[._-]|(?=[A-Z])|$))+$/;
// Letters of one case and a number that can be pronounced: of random values of 20 characters one in 8,000
// is (base 36), fewer than have no digit at all.
const ONE_CASE = /^(?!.*[bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ]{5})(?:[a-z]+|[A-Z]+)\d{1,3}$/;
const API_VERSION = /^(?:[A-Za-z]+[._-])*v\d{1,2}(?:alpha|beta)\d{1,2}(?:[._-][A-Za-z]+)*$/;

/** Replaces a random value, but only the numbers in a name of source code. */
function replaceRandomLooking(text: string): string {
  const isName = CAMEL_CASE.test(text) || ONE_CASE.test(text) || API_VERSION.test(text);
  return isName ? text.replaceAll(/\d+/g, "<n>") : "<n>";
}

const SIGN = raw`(?:(?<=^|[\s([{<=:,"'\x60])[+-])?`;
const AMOUNT = raw`\d+(?:,\d{3}(?!\d))*(?:\.\d+)?`;
const TIME_SPAN = raw`${AMOUNT}(?:e[+-]?\d+)?(?: ?(?:nanoseconds?|microseconds?|milliseconds?|` +
  raw`seconds?|minutes?|hours?|days?|msecs?|secs?|mins?|hrs?|ns|us|\xb5s|\u03bcs|ms|s)|[mhd])`;

// Not the end of an id.
const COUNT = raw`(?<![\w.,])\d(?:[\d.,]{0,4}\d)?`;

/** In the order in which they are tried at each place of a text, which only one rule matches. */
export const CAUSE_RULES: readonly CauseRule[] = [
  {
    name: "HTTP status",
    pattern: new RegExp(
      raw`(?<![a-z])(?:HTTP(?:/\d(?:\.\d)?)?|status(?:[ _-]?code)?|response[ _-]?code|<Response)${GAP}` +
        raw`${HTTP_STATUS}(?:${GAP}${HTTP_STATUS})?|` +
        raw`(?<![\w.,])${COMMON_HTTP_STATUS}${GAP}${COMMON_HTTP_STATUS}`,
    ),
    replacement: null,
  },
  {
    name: "exit or error code",
    pattern: new RegExp(
      raw`(?<![a-z])(?:exit(?:ed)?(?: with)?(?:[ _-]?(?:code|status))?|` +
        raw`(?:closed|ended|failed|finished) with (?:code|status)|return[ _-]?code|error[ _-]?code|` +
        raw`errno|os error|signal|SQLCODE|SQLSTATE|HRESULT)[ :=#([]{1,4}-?(?:0x[\da-f]+|` +
        raw`(?=[a-z]{0,4}\d)[a-z\d]{1,11})(?!\w)|(?<!\w)(?:CS\d{4}|E\d{4,5}|ORA-\d{5}|TS\d{4,5})(?!\w)`,
    ),
    replacement: null,
  },
  {
    name: "name with a number",
    pattern: new RegExp(
      raw`(?<![a-z\d])(?:u?int(?:8|16|32|64)|float(?:32|64)|[fiu](?:8|16|32|64|128)|utf-?(?:8|16|32)|` +
        raw`sha-?(?:1|256|384|512)|md5|base(?:32|64)|(?:aarch|amd|arm|x86_)64|x(?:64|86)|ipv[46]|` +
        raw`http/[123]|oauth2|s3)(?![a-z\d])`,
    ),
    replacement: null,
  },
  {
    name: "address",
    pattern: new RegExp(
      raw`(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)(?::\d{1,5}(?!\w))?|` +
        raw`\[(?:[\da-f]{0,4}:){2,7}[\da-f.]{0,15}\](?::\d{1,5}(?!\w))?|` +
        raw`(?<![\w:])(?:${FULL_IP_V6}|${IP_V6}|${MAC})`,
    ),
    replacement: "<address>",
  },
  {
    name: "time stamp",
    pattern: new RegExp(
      raw`\d{4}(?:-\d\d-|/\d\d/)\d\d` +
        raw`(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?${ZONE})?(?!\w)|` +
        raw`\d{8}T\d{6}Z?(?!\w)|${CLOCK}${ZONE}(?!\w)|` +
        raw`(?<!\w)(?:${DAY})?(?:\d\d?[ /-]${MONTH}|${MONTH} {1,2}\d\d?),?` +
        raw`(?:(?:[ /-]\d{4}|[/-]\d\d)(?!\d)(?:(?:,? (?:at )?|:)${CLOCK})?| \d\d \d\d:\d\d(?!\d)|` +
        raw` ${CLOCK}(?:(?: ${ZONE_NAME})? \d{4})?)${ZONE}(?!\w)|` +
        raw`(?<=\bdatetime\()\d+(?:, \d+){2,6}`,
    ),
    replacement: "<time>",
  },
  {
    name: "UUID",
    // Often directly after a word.
    pattern: /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}(?![a-z\d])/,
    replacement: "<uuid>",
  },
  {
    name: "temporary path",
    pattern: new RegExp(
      raw`(?<![\w.-])(?:${TEMPORARY_FOLDER})(?![\w.-])` +
        raw`(?:[\\/](?!${FILE_NAME})[^\s\\/"'\x60:;,()<>|*?[\]{}]+)*`,
    ),
    replacement: "<tmp>",
  },
  {
    name: "enclosed random-looking value",
    pattern: new RegExp(raw`(?<=["'\x60{[])${RANDOM_LOOKING}(?=["'\x60}\]])`),
    replacement: replaceRandomLooking,
  },
  {
    name: "name of a pod",
    pattern: new RegExp(raw`-(?<=[a-z\d]-)${POD_SUFFIX}`),
    replacement: "-<n>",
  },
  {
    name: "hexadecimal number",
    pattern: new RegExp(
      raw`(?<![a-z\d])(?:0x[\da-f]+|(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{7,})(?![a-z\d])|` +
        raw`(?<=[\w$;\])]@)(?=[a-f]*\d)[\da-f]{1,16}(?![\w.])`,
    ),
    replacement: "<n>",
  },
  {
    name: "duration",
    pattern: new RegExp(
      raw`(?<!\w)${SIGN}${TIME_SPAN}(?:(?:,? (?:and )?)?${TIME_SPAN})*(?!\w)|` +
        raw`(?<!\w)-?P(?:\d+D)?T(?:-?\d+(?:\.\d+)?[HMS]){1,3}(?!\w)|` +
        raw`(?<=\btimedelta\()(?:(?:days|seconds|microseconds)=)?-?\d+(?:, \w+=\d+){0,2}`,
    ),
    replacement: "<duration>",
  },
  {
    name: "size",
    pattern: new RegExp(raw`(?<!\w)${AMOUNT} ?(?:[kmgt]i?b|bytes?)(?!\w)`),
    replacement: "<size>",
  },
  {
    name: "random-looking name",
    pattern: new RegExp(
      raw`(?<![a-z\d])(?:(?=[a-z]*\d+[a-z]+\d+[a-z]+\d)[a-z\d]{6,}|` +
        raw`(?=[a-z]*\d+[a-z]+\d)[a-z\d]{20,})(?![a-z\d]|-(?:[\da-f]{4}-){3})|` +
        raw`(?<=[a-z\d]-)(?=[a-z]*\d)(?=\d*[a-z])${podCharacters("5")}(?![\w-])`,
    ),
    replacement: replaceRandomLooking,
  },
  {
    name: "number",
    pattern: new RegExp(
      raw`${SIGN}\d+(?:,\d{3}(?!\d))*(?:\.\d+)*(?:(?:e[+-]?\d+|st|nd|rd|th)(?!\w))?`,
    ),
    replacement: "<n>",
  },
  {
    name: "plural",
    pattern: new RegExp(
      raw`es(?!\w)(?<=${COUNT} [a-z]{1,30}(?:s|x|ch|sh)es)|` +
        raw`s(?!\w)(?<=${COUNT} [a-z]{1,30}[a-rt-z]s)`,
    ),
    replacement: "",
  },
  { name: "white space", pattern: /\s{2,}|[^\S ]/, replacement: " " },
];
