"""The words that the grammar puts into its sentences, and the small rules of English that go with them."""

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
GIRLS = """Anna Clara Ella Grace Ida Kate Mia Olivia Rosa Tina Lily Nora Ruby Emma Zoe Alice Maya Lena Sophie Hanna
Nina Eva Julia Sara Greta Vera Dora Amy Lucy Mary""".split()
BOYS = """Ben Daniel Finn Henry Jack Leo Noah Paul Sam Tom Max Oscar Theo Lucas Hugo Peter Simon Oliver Jacob Felix
Adam Martin David Robin Emil Otto Carl Frank Bob John""".split()
ANIMALS = """fox bear rabbit mouse cat dog owl hedgehog squirrel frog duck turtle lion tiger elephant monkey wolf deer
pony horse pig sheep goat cow hen goose swan sparrow crow badger beaver otter mole penguin seal whale dolphin crab snail
bee ant butterfly kangaroo panda koala camel giraffe zebra parrot hamster dragon robot unicorn puppy kitten bird donkey
lizard eagle crocodile""".split()
PLACES = """forest|lake|river|beach|market|park|old mill|hill|meadow|village|castle|library|farm|harbour|mountains|school
|bakery|station|museum|stone bridge|cave|island|lighthouse|pond|orchard|town square|waterfall|playground|valley|theatre
""".replace("\n", "").split("|")
THINGS = """key ball hat book lantern box kite umbrella scarf bell drum basket ring coin map cup mirror whistle flute
spoon button feather stone shell ribbon blanket bottle candle clock doll brush glove shoe bag bucket mug necklace pencil
rope teapot watch wagon marble jacket pillow plate comb crown lamp sock""".split()
COLOURS = "red blue green yellow orange purple pink white black brown grey golden silver".split()
SPOTS = """under an old tree|behind a big rock|under a bench|in the tall grass|next to the fence|inside a hollow log
|on a flat stone|under a pile of leaves|behind a door|between two bushes|near the well|on top of a wall
|at the foot of the stairs|beside the path|in a deep hole|on a low branch""".replace("\n", "").split("|")
HOUSES = """small house|cosy cottage|tall tower|wooden hut|old barn|warm cave|hollow tree|little tent|stone house
|quiet cabin""".replace("\n", "").split("|")
SURROUNDINGS = """by the river|near the sea|on a green hill|at the edge of the forest|in a quiet village|behind the mill
|next to a big oak|in the middle of a field|under the bridge|on a busy street""".replace("\n", "").split("|")
TRAITS = """curious shy brave kind clever cheerful quiet patient friendly gentle lazy honest proud careful funny
polite""".split()
GLAD = "happy proud glad thankful calm excited cheerful content".split()
SAD = "sad worried scared lonely cross upset nervous".split()
WEATHER = "sunny rainy windy cloudy snowy foggy warm cold".split()
TIMES = "morning afternoon evening".split()
FOODS = """bread|soup|apple pie|cookies|pancakes|cheese|honey cake|berries|nuts|porridge|plum cake|sandwiches|pears|noodles
|rice pudding|waffles|mushroom stew|grapes""".replace("\n", "").split("|")
SKILLS = """swim|whistle|dance|sing|paint|ride a bike|climb trees|skate|juggle|cook|read|fly a kite|row a boat
|play the flute|bake bread|ski|sew""".replace("\n", "").split("|")
PLANTS = "sunflowers roses tulips carrots pumpkins beans strawberries tomatoes daisies onions".split()
GOODS = """apples pears plums eggs nuts cookies marbles stamps shells cards buttons pencils books coins flowers stickers
beads balls lemons cherries""".split()
CONTAINERS = "boxes bags baskets jars bowls crates".split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
SMALL_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
MONTH_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

# Words that only the spelling questions use.
SPELLED = """about above after again air always answer apron autumn baby back bamboo banana bank bath bed bicycle big
blossom board bottom bowl branch brother butter button cabbage camera carpet chair chalk cherry child chimney chocolate
circle cloud coat coffee colour computer copper corner cotton country cousin curtain desk diamond dinner door drawer
dress earth engine evening eye family father fence field finger fire flag floor flower foot fork friend fruit garage
garlic ginger glass gold grass green guitar hammer hand harbour head heart honey hotel house idea island jelly juice
jungle kitchen knee knife ladder language leaf lemon letter light machine mango market meat melon metal milk minute
money moon mother motor mountain music nail neck needle nest night noise north number ocean office olive onion orange
oven paper parent parrot peach pepper piano picture pillow planet plant pocket potato princess pumpkin question queen
radio rain raspberry river road rocket roof room salad salt sand school science season shadow ship shirt shoulder silver
sister sky sleep smile snow soap south spider spring square star station steam stick stomach storm strawberry street
sugar summer sun table tea teacher tent thunder ticket tomato tooth town toy train travel tree triangle uncle valley
village violin voice wall water weather week wheel wheat wind window winter wolf wood word world yellow young zebra
mississippi hello computer program model actor server weft""".split()
ONSETS = "b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p ph pl pr qu r s sc sh sl sp st str t th tr v w wh z".split()
VOWELS = "a a a e e e i i o o u ai ea ee ie oa oo ou y".split()
CODAS = ["", "", "", *"b ck d ft g l ll m mp n nd ng nt p r rd rk rn s sh ss st t th tt v w x".split()]
ENDINGS = ["", "", "", "", *"ing er ed ly est ness y ion al ment".split()]
HARD_FEELINGS = [*SAD, "tired", "hungry", "bored", "ill", "angry", "afraid"]
ROLES = """pirate teacher doctor knight wizard cook farmer sailor king queen singer painter detective captain""".split()

# Names that may be written in small letters and are still known.
PROPER = {*GIRLS, *BOYS, *DAYS, *MONTHS, "I", "Weft", "Weft's"}


def a(words: str) -> str:
    """The words after their indefinite article."""
    has_vowel = words[0] in "aeiou" and not words.startswith("unicorn") or words.startswith("honest")
    return ("an " if has_vowel else "a ") + words


def listed(items: list[str]) -> str:
    """'x, y and z'."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def count_of(number: int, plural: str) -> str:
    """The number and the noun in the right form: '1 box', '2 boxes'."""
    return f"{number} {plural if number != 1 else singular(plural)}"


def singular(plural: str) -> str:
    if plural.endswith("ies") and plural != "cookies":
        return plural[:-3] + "y"
    return plural[:-2] if plural.endswith("xes") else plural[:-1]


def syllables(rng, count: int) -> str:
    return "".join(rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS) for _ in range(count))


def invented_word(rng) -> str:
    """A word of at most twelve letters that no dictionary has but that is made of English pieces."""
    while True:
        word = syllables(rng, rng.choice((2, 2, 3))) + rng.choice(ENDINGS)
        if len(word) <= 12:
            return word


def invented_name(rng) -> str:
    """A name of four to nine letters."""
    while True:
        name = syllables(rng, rng.choice((1, 2, 2))) + rng.choice(["", "a", "o", "us", "in", "el", "y", "an"])
        if 4 <= len(name) <= 9:
            return name.capitalize()
