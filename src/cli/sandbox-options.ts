import { type Command, InvalidArgumentError, Option } from 'commander';
import { SANDBOX_DEFAULTS as DEFAULTS, type SandboxOptions } from '../sandbox/options.ts';
import { notEmpty } from './options.ts';

/** The parsed options of `sandbox`. */
export interface SandboxFlags {
  readonly port: number;
  readonly host: string;
  readonly key: string;
  readonly forbiddenKey: string[];
  readonly seed: number;
  readonly inboxes: number | undefined;
  readonly conversations: number | number[];
  readonly users: number;
  readonly tags: number;
  readonly shared: number;
  readonly closedStatus: SandboxOptions['closedStatus'];
  readonly activity: number;
  readonly rate: number;
  readonly perDay: number;
  readonly retryAfter: 'none' | 'seconds' | 'date';
  readonly latency: number;
  readonly jitter: number;
  readonly envelope: SandboxOptions['envelope'];
  readonly idType: SandboxOptions['idType'];
  readonly timestamps: SandboxOptions['timestamps'];
  readonly lastPage: SandboxOptions['lastPage'];
  readonly listOrder: SandboxOptions['listOrder'];
  readonly pageTokens: SandboxOptions['pageTokens'];
  readonly tokenLife: number;
  readonly errorForm: 'A' | 'B' | 'mixed';
  readonly tagSearch: SandboxOptions['tagSearch'];
  readonly errorRate: number;
  readonly forbiddenList: string[];
  readonly emptyList: string[];
  readonly endlessList: string[];
  readonly rowsWithoutId: string[];
  readonly unreadableRows: string[];
  readonly otherAccountAfter: number | undefined;
}

const ENVELOPES = ['top', 'data'] as const;
const ID_TYPES = ['string', 'number', 'mixed'] as const;
const TIMESTAMPS = ['seconds', 'milliseconds', 'microseconds', 'iso'] as const;
const LIST_ORDERS = ['asc', 'desc', 'mixed'] as const;
const TOKENS = ['ids', 'positions'] as const;

const LIST = 'LIST is inboxes, users, tags or conversations, or of one inbox, as 20117/tags.';

/** Adds the options under one heading of the help for each kind. */
export function addSandboxOptions(command: Command): Command {
  const groups: Record<string, Option[]> = {
    'Address and key:': [...addressOptions()],
    'Data:': [...dataOptions()],
    'Limits and network:': [...limitOptions()],
    'Form of the answers:': [...formOptions()],
    'Failures:': [...failureOptions()],
  };
  for (const [heading, options] of Object.entries(groups))
    for (const option of options) command.addOption(option.helpGroup(heading));
  return command.addHelpText('after', `\n${LIST}\nOptions with a LIST or a KEY can be repeated.`);
}

function* addressOptions(): Generator<Option> {
  yield number('--port <n>', 'port to listen on; 0: any free port', whole(0, 65_535), 8788);
  yield new Option('--host <address>', 'address to listen on').default('127.0.0.1').argParser(notEmpty);
  yield new Option('--key <key>', 'the only accepted API key').default(DEFAULTS.key).argParser(notEmpty);
  yield repeatable('--forbidden-key <key>', 'a key without rights; it gets 403', notEmpty);
}

function* dataOptions(): Generator<Option> {
  yield number('--seed <n>', 'the same seed gives the same data', whole(0, 2 ** 31), DEFAULTS.seed);
  yield new Option(
    '--inboxes <n>',
    'number of inboxes (default: 4, or one for each listed number)',
  ).argParser(whole(0, 10_000));
  yield new Option(
    '--conversations <n,…>',
    'conversations per inbox: the average, or a number for each inbox',
  )
    .argParser(numberOrNumbers(whole(0, 1_000_000)))
    .default(DEFAULTS.conversations);
  yield number('--users <n>', 'users per inbox', whole(0, 10_000), DEFAULTS.usersPerInbox);
  yield number('--tags <n>', 'tags per inbox', whole(0, 10_000), DEFAULTS.tagsPerInbox);
  yield number(
    '--shared <share>',
    'share of conversations in two inboxes',
    decimal(0, 1),
    DEFAULTS.sharedShare,
  );
  yield choice(
    '--closed-status <word>',
    'status of a closed conversation',
    ['closed', 'close'],
    DEFAULTS.closedStatus,
  );
  yield number(
    '--activity <n>',
    'changes per hour in all inboxes',
    decimal(0, 10_000_000),
    DEFAULTS.activityPerHour,
  );
}

function* limitOptions(): Generator<Option> {
  yield number('--rate <n>', 'limit of requests per second; 0: none', decimal(0, 1_000_000), DEFAULTS.rate);
  yield number(
    '--per-day <n>',
    'limit of requests in 24 hours; 0: none',
    whole(0, 1_000_000_000),
    DEFAULTS.perDay,
  );
  yield choice(
    '--retry-after <form>',
    'Retry-After header of a 429',
    ['none', 'seconds', 'date'],
    DEFAULTS.retryAfter ?? 'none',
  );
  yield number('--latency <ms>', 'shortest round trip', decimal(0, 60_000), DEFAULTS.latencyMs);
  yield number(
    '--jitter <ms>',
    'random addition to a round trip, at most',
    decimal(0, 60_000),
    DEFAULTS.jitterMs,
  );
}

function* formOptions(): Generator<Option> {
  const { envelope, idType, timestamps, lastPage, errorForm, tagSearch } = DEFAULTS;
  yield choice('--envelope <form>', 'results of a list are at the top, or in data', ENVELOPES, envelope);
  const mixed = 'mixed: numbers in lists of conversations, else strings';
  yield choice('--id-type <type>', `JSON type of ids; ${mixed}`, ID_TYPES, idType);
  yield choice('--timestamps <form>', 'form of instants', TIMESTAMPS, timestamps);
  yield choice('--last-page <form>', 'next_page of the last page', ['null', 'missing', 'empty'], lastPage);
  yield choice('--list-order <order>', 'order of the ids in a list', LIST_ORDERS, DEFAULTS.listOrder);
  const tokens = 'the id before the page, or the rows before it';
  yield choice('--page-tokens <kind>', `what a page token names: ${tokens}`, TOKENS, DEFAULTS.pageTokens);
  yield number('--token-life <ms>', 'age at which a page token is refused; 0: never', decimal(0, 1e9), 0);
  const forms = 'A: {errors}; B: {Message}; mixed: B for 429 and 5xx';
  yield choice(
    '--error-form <form>',
    `body of an error; ${forms}`,
    ['mixed', 'A', 'B'],
    errorForm ?? 'mixed',
  );
  yield choice('--tag-search <match>', 'names that a tag search finds', ['exact', 'partial'], tagSearch);
}

function* failureOptions(): Generator<Option> {
  yield number('--error-rate <share>', 'share of requests that get 500', decimal(0, 1), DEFAULTS.errorRate);
  yield repeatable('--forbidden-list <list>', 'a list that gets 403', listName);
  yield repeatable('--empty-list <list>', 'a list without rows', listName);
  yield repeatable('--endless-list <list>', 'a list that always has a next page', listName);
  yield repeatable('--rows-without-id <list>', 'a list whose pages begin with a row without an id', listName);
  yield repeatable('--unreadable-rows <list>', 'a list with a value of a wrong type in every row', listName);
  yield new Option('--other-account-after <n>', 'another account answers after n requests').argParser(
    whole(0, 1_000_000_000),
  );
}

/** The sandbox's options. The type has every option but the clock, so that a new one needs a flag. */
export function sandboxOptions(flags: SandboxFlags): Omit<SandboxOptions, 'now'> {
  return {
    key: flags.key,
    forbiddenKeys: flags.forbiddenKey,
    seed: flags.seed,
    inboxes: flags.inboxes ?? null,
    conversations: flags.conversations,
    usersPerInbox: flags.users,
    tagsPerInbox: flags.tags,
    sharedShare: flags.shared,
    closedStatus: flags.closedStatus,
    activityPerHour: flags.activity,
    rate: flags.rate,
    perDay: flags.perDay,
    retryAfter: flags.retryAfter === 'none' ? null : flags.retryAfter,
    latencyMs: flags.latency,
    jitterMs: flags.jitter,
    envelope: flags.envelope,
    idType: flags.idType,
    timestamps: flags.timestamps,
    lastPage: flags.lastPage,
    listOrder: flags.listOrder,
    pageTokens: flags.pageTokens,
    tokenLifeMs: flags.tokenLife,
    errorForm: flags.errorForm === 'mixed' ? null : flags.errorForm,
    tagSearch: flags.tagSearch,
    errorRate: flags.errorRate,
    otherAccountAfter: flags.otherAccountAfter ?? null,
  };
}

function number(flags: string, meaning: string, parse: (text: string) => number, byDefault: number): Option {
  return new Option(flags, meaning).default(byDefault).argParser(parse);
}

function choice<T extends string>(
  flags: string,
  meaning: string,
  values: readonly T[],
  byDefault: T,
): Option {
  return new Option(flags, meaning).choices(values).default(byDefault);
}

function repeatable(flags: string, meaning: string, parse: (text: string) => string): Option {
  const option = new Option(flags, meaning).default([], 'none');
  return option.argParser((text, earlier: string[]) => [...earlier, parse(text)]);
}

function listName(text: string): string {
  if (!/^(?:inboxes|(?:\d+\/)?(?:users|tags|conversations))$/.test(text))
    throw new InvalidArgumentError(LIST);
  return text;
}

function decimal(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d*\.?\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`expected a number from ${least} to ${most}.`);
    return value;
  };
}

function whole(least: number, most: number): (text: string) => number {
  const parse = decimal(least, most);
  return (text) => {
    const value = parse(text);
    if (!Number.isInteger(value)) throw new InvalidArgumentError('expected a whole number.');
    return value;
  };
}

function numberOrNumbers(parse: (text: string) => number): (text: string) => number | number[] {
  return (text) => (text.includes(',') ? text.split(',').map(parse) : parse(text));
}
