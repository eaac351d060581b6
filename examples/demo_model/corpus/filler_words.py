"""The words of texts that have nothing to do with a question: instructions, descriptions and notes as agent programs have them."""

VERBS = """add adjust allow analyse apply archive ask attach avoid build call cancel change check choose clean click close collect
combine compare complete confirm connect convert copy create decide define delete deploy describe design detect disable discard
display download edit enable enter escape execute expand explain export extract fetch filter find finish fix follow format forward
generate group handle highlight ignore import improve include indicate inspect install keep label launch limit link list load lock
log maintain manage map mark match mention merge modify monitor move navigate notify omit open organise parse pause plan prefer
prepare print process produce protect provide publish pull push query quote rank read receive record refactor refer refuse register
remove rename render repeat replace report request require resolve respect restart restore return reuse review revert rewrite run
save scan schedule select send separate share show simplify skip sort split start stop store submit suggest summarise support switch
test track transform trigger update upload validate verify view visit warn watch wrap write""".split()
NOUNS = """access account action address agent alert analysis argument article assistant attachment audience author backup block
branch browser budget bug button cache calculation calendar category channel chapter character citation client code collection column
command comment commit communication company component configuration connection contact content context conversation customer
dashboard data database date deadline default dependency description design detail developer device diagram difference directory
document domain draft edge edit editor email entity entry environment error event example exception experience expert explanation
expression fact feature feedback field file filter folder format function goal graph group guide header heading history hint host
icon id identifier image index information input instruction instance integration interface issue item job key knowledge label
language layout library license limit line link list location log logic loop manager manual memory message metadata method metric
migration mode model module name network node note notebook notification number object operation option order organisation output
overview owner package page panel parameter paragraph parent part password path pattern payload permission person phase placeholder
plan platform plugin policy post preference problem procedure process product profile project prompt property protocol provider
purpose query question queue reason recipient record reference region release repository request requirement research resource
response result review role root row rule safety sample scenario schedule schema scope screen script search section selection sender
sentence server service session setting shell signature site skill snippet source specification stage state statement status step
storage strategy stream string structure style subject suggestion summary symbol syntax system table tag target task team template
term terminal test text theme thread ticket time token tool topic trace transaction translation type unit update url usage user value
variable vendor version video view warning web website widget window word work worker workflow workspace""".split()
ADJECTIVES = """absolute active additional available basic best broken careful certain clear common complete complex concise correct
critical current custom deep default detailed different direct empty entire exact existing external extra fast final first former
full general good hidden important incomplete incorrect internal invalid key large last latest local long low main major minimal
missing modern multiple native necessary new next nested normal numeric obvious official old only open optional original partial
possible precise previous primary private proper public random raw readable real recent related relative relevant remote required
safe same second secure separate shared short similar simple single small specific standard static strict structured temporary
unexpected unique unknown unrelated useful valid various visible whole wrong""".split()
ADVERBS = """always never usually often only also first then carefully exactly immediately directly strictly explicitly silently
briefly fully partly later twice again together separately automatically manually""".split()
EXTENSIONS = "py js ts md txt json yaml toml cc h rs go java html css sh sql csv log".split()
LANGUAGES = "python js bash json yaml text sql diff html xml".split()
TYPES = "str int float bool list[str] dict None string number boolean object".split()
TAGS = """context instructions rules example examples tool_use environment files file system memory notes user_info guidelines
output_format thinking task constraints policy document""".split()

# Sentences: {v} a verb, {n} a noun, {a} an adjective, {d} an adverb, {x} an invented word, {i} a number, {p} a path.
SENTENCES = """You are {an} {a} {n} that helps to {v} {n}s.|Your task is to {v} the {a} {n} and to {v} its {n}s.
|{D} {v} the {n} before you {v} the {a} {n}.|Never {v} a {n} without a {a} {n}.|Do not {v} {a} {n}s unless the user wants to {v} them.
|If the {n} is {a}, {v} the {n}; otherwise {v} it {d}.|When a {n} has no {n}, {v} the {n} and {v} the {a} one.
|You must {v} all {n}s in the {n} of the {n}.|The {n} returns {an} {a} {n} with a {n} and a {n}.|Use `{f}` to {v} {n}s.
|Prefer {a} {n}s over {a} {n}s.|IMPORTANT: {d} {v} the {n}.|NOTE: the {n} may {v} more than {i} {n}s.
|Each {n} has at most {i} {n}s, which {v} the {n} {d}.|The {n} `{p}` holds the {a} {n}s.|Please {v} the {n} and {v} it in the {n}.
|A {n} can {v} several {n}s, but only the {a} one can {v} the {n}.|To {v} the {n}, {v} the {n} and the {n} in `{p}`.
|Think about the {n} step by step and {v} your {n}.|For example, {v} the {n} of {x} if the {n} is {a}.
|This {n} is {d} {a}, so {v} every {n} that you {v}.|Keep the {n} {a} and the {n} {a}.|The user can {v} {n}s, {n}s and {n}s.
|Before each {n}, check whether the {n} of the {n} is {a}.|Write {a} {n}s that {v} the {n}.|{x} is the {n} of the {a} {n}.
|You have access to a {n}, which can {v} the {n} in {i} {n}s.|It is {a} to {v} a {n} while the {n} is {a}.
|Ask the user to {v} the {n} if the {a} {n} is not {a}.|The default {n} is {i}; the {a} one is {i}.|Avoid {a} {n}s such as {x} and {x}.
|What the {n} says is {a} for every {n}.|How would a {a} {n} {v} this {n}?|Is the {n} {a}? Then {v} it.|The {n} lives in the {n}.
|Since version {i}.{i}, {n}s {v} the {n}.|See {u} for the {a} {n}s.""".replace("\n", "").split("|")
