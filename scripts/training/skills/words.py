"""Word lists. Everything here was written for this corpus.

The order of every list matters: the generator draws by index.
"""

GIRLS = """
Ann Mia Lily Nora Ella Ruby Ivy Clara Rosa Maya Zoe Hana Ada Freya Ines Tara Lucy Emma Lena Sara
Olive Wren Daisy Iris Juno Kira Leila Nina Petra Quinn Sofia Tess Uma Vera Willa Yara Alma Bea Cora
Dora Edie Fern Greta Hazel Isla Jill Kate Luna Molly Nell Opal Poppy Rita Stella Thea Violet Amina
Priya Mei Yuki Ingrid
""".split()
BOYS = """
Tom Ben Max Sam Leo Finn Omar Hugo Jack Noah Theo Oscar Milo Ravi Ken Luis Paul Eli Otis Jonas Adam
Boris Carl Dan Emil Felix Gus Henry Ian Jude Karl Liam Marco Nico Owen Pete Ralph Simon Toby Victor
Walt Yusuf Zack Arlo Bruno Cyrus Dean Ezra Frank George Hamid Ivan Joel Kofi Lars Mateo Nils Otto
Rohan Sven
""".split()
FEMALE_ANIMAL_NAMES = """
Pip Tilly Maple Clover Biscuit Bramble Pepper Honey Willow Button Dot Mimi Pebble Nutmeg Hazelnut
Pippa Snowdrop Twinkle Marigold Olive Bluebell Ginger Plum Sunny Berry Misty Lulu Kiki Penny Peaches
""".split()
MALE_ANIMAL_NAMES = """
Rusty Bumble Acorn Fergus Barnaby Monty Chester Moss Toffee Spike Rufus Basil Ziggy Cosmo Waldo
Dusty Hopper Scout Bertie Murphy Teddy Fudge Oakley Sprout Archie Dash Flint Jasper Marlow Rocky
""".split()
ANIMALS = """
fox rabbit mouse hedgehog squirrel badger otter owl bear deer duck frog turtle cat puppy goat lamb
pony beaver robin sparrow penguin seal whale dolphin crab snail bee ladybird elephant lion giraffe
monkey panda koala kangaroo parrot goose raccoon wolf mole camel tiger zebra swan donkey
""".split()
JOBS = """
baker gardener fisher painter clockmaker librarian postman farmer carpenter tailor teacher sailor
lighthouse-keeper cook musician shepherd beekeeper blacksmith potter pilot astronaut inventor doctor
knight
""".split()
FANTASY = """
dragon robot wizard giant fairy mermaid troll unicorn ghost elf princess prince pirate snowman
""".split()
PETS = "dog cat rabbit parrot pony turtle".split()
HERO_ADJECTIVES = """
small brave shy curious clever kind sleepy cheerful gentle grumpy young old quiet lonely hungry
silly careful proud patient clumsy tiny friendly nervous lucky thoughtful playful
""".split()
# (the place, the place with its preposition)
PLACES = [
    ("forest", "in the forest"),
    ("village", "in a quiet village"),
    ("castle", "in an old castle"),
    ("beach", "by the beach"),
    ("island", "on a small island"),
    ("mountain", "on a tall mountain"),
    ("garden", "in a wide garden"),
    ("farm", "on a sunny farm"),
    ("city", "in a busy city"),
    ("lighthouse", "in a white lighthouse"),
    ("river", "beside a slow river"),
    ("lake", "beside a blue lake"),
    ("valley", "in a green valley"),
    ("desert", "at the edge of the desert"),
    ("school", "in a little school"),
    ("library", "in a dusty library"),
    ("harbour", "near the harbour"),
    ("meadow", "in a bright meadow"),
    ("cave", "near a deep cave"),
    ("market", "beside the market"),
    ("bakery", "above the bakery"),
    ("train station", "near the train station"),
    ("moon", "on the moon"),
    ("snowy hill", "on a snowy hill"),
    ("jungle", "in the deep jungle"),
    ("windmill", "in an old windmill"),
    ("orchard", "in an apple orchard"),
    ("pond", "beside a round pond"),
    ("tower", "in a stone tower"),
    ("space station", "on a space station"),
]
OBJECTS = """
lantern key kite drum bell ring map compass book blanket hat scarf violin whistle boat basket
umbrella teapot clock mirror feather button balloon flute pebble coin shell telescope paintbrush
teddy bicycle ribbon necklace spoon letter cup lamp mitten marble crown box acorn box notebook
guitar
""".split() + ["pocket watch", "music box"]
OBJECT_ADJECTIVES = """
red blue golden silver little old shiny wooden green yellow tiny bright striped round painted
beautiful
""".split()
THINGS = """
apples pears marbles coins books stickers shells pencils buttons cookies eggs stamps cards flowers
balloons stones oranges nuts
""".split()
FOODS = """
bread soup apples berries pancakes honey cake cheese pears porridge biscuits plums jam pie carrots
nuts cherries noodles rice muffins
""".split()
MOODS = "happy sad funny scary cozy exciting peaceful magical sleepy hopeful".split()
COLOURS = """
red blue green yellow orange purple pink brown black white grey gold silver turquoise violet
""".split()
FRUITS = """
apple banana orange pear plum peach cherry grape mango lemon lime kiwi melon strawberry pineapple
apricot fig raspberry
""".split()
VEGETABLES = """
carrot potato onion tomato cabbage spinach pea bean leek pumpkin cucumber broccoli celery turnip
radish beetroot
""".split()
TOOLS = """
hammer saw screwdriver wrench drill pliers chisel ruler shovel rake axe ladder clamp file spade
""".split()
INSTRUMENTS = """
piano violin guitar drum flute trumpet cello harp clarinet trombone banjo tuba accordion saxophone
oboe
""".split()
COMMON_ANIMALS = """
lion tiger elephant giraffe zebra monkey bear wolf fox rabbit horse cow sheep dog cat penguin whale
dolphin owl eagle
""".split()
BIRDS = """
robin sparrow eagle owl duck swan parrot penguin crow pigeon gull heron hawk finch stork
""".split()
FLOWERS = """
rose tulip daisy lily sunflower violet orchid poppy iris lavender daffodil marigold
""".split()
TREES = "oak pine maple birch willow ash elm fir cedar beech palm apple".split()
CLOTHES = """
shirt hat coat scarf shoe sock glove dress skirt jacket sweater belt trousers boot
""".split()
FURNITURE = "chair table bed sofa desk shelf lamp wardrobe bench stool cupboard mirror".split()
VEHICLES = """
car bus train bicycle boat plane truck tram ship taxi helicopter scooter ferry van
""".split()
SPORTS = """
football tennis swimming rowing basketball hockey cricket running cycling skiing golf volleyball
""".split()
SHAPES = "circle square triangle rectangle oval star heart hexagon pentagon diamond".split()
BODY_PARTS = "head hand foot arm leg nose ear eye mouth knee shoulder finger toe back".split()
METALS = "iron gold silver copper tin lead zinc nickel aluminium platinum".split()
DRINKS = "water tea coffee milk juice lemonade cocoa soda".split()
ROOMS = "kitchen bedroom bathroom hall attic cellar study garage".split()
COUNTRIES = """
France Spain Italy Japan Brazil Canada Egypt India Kenya Peru Norway Greece Mexico China Chile
""".split()
SUBJECTS = "mathematics history geography biology chemistry physics music art".split()
# the plural name of a kind -> things of that kind
KINDS = {
    "colours": COLOURS,
    "colors": COLOURS,
    "fruits": FRUITS,
    "vegetables": VEGETABLES,
    "tools": TOOLS,
    "instruments": INSTRUMENTS,
    "musical instruments": INSTRUMENTS,
    "animals": COMMON_ANIMALS,
    "birds": BIRDS,
    "flowers": FLOWERS,
    "trees": TREES,
    "clothes": CLOTHES,
    "pieces of furniture": FURNITURE,
    "vehicles": VEHICLES,
    "sports": SPORTS,
    "shapes": SHAPES,
    "parts of the body": BODY_PARTS,
    "metals": METALS,
    "drinks": DRINKS,
    "rooms in a house": ROOMS,
    "countries": COUNTRIES,
    "school subjects": SUBJECTS,
}
ORDINALS = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
""".split()
NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = """
January February March April May June July August September October November December
""".split()
MONTH_LENGTHS = dict(zip(MONTHS, "31 28 31 30 31 30 31 31 30 31 30 31".split()))
PLANETS = "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune".split()
CITIES = """
Paris London Rome Tokyo Berlin Madrid Oslo Cairo Lima Delhi Beijing Sydney Toronto Boston Chicago
Lisbon Vienna Prague Dublin Athens Warsaw Nairobi Seoul Mumbai Zurich Geneva Denver Seattle Austin
Kyoto Milan Porto Lyon Hamburg Munich Amsterdam Brussels Helsinki Stockholm Copenhagen Istanbul
Bangkok Singapore Manila Jakarta Hanoi Accra Lagos Quito Bogota Santiago Montreal Vancouver Dakar
Tunis Rabat Reykjavik Budapest Krakow Naples
""".split()
SIMPLE_WORDS = """
ant apple bag ball basket bat batch beach bed bee bell blanket boat book bottle box branch brave
bread bridge bright bucket butter button cache cake candle carpet carrot castle cat chair cheese
cherry circle city clever cloud coffee coin cold comet corner cow cup dance desert doctor dog door
dream drum eagle engine farm farmer fast field fish floor flower flute forest fox frog garden gate
gentle grass hammer hand happy hat head heart hen horse house island key king kitten knight ladder
lake lamp lantern laugh leaf lemon letter little map market melon milk mirror model monkey moon
mountain mouse music nest nose number ocean onion orange owl paper park peach pen pencil pepper
piano pig pillow plane planet pocket poem pond potato prompt puppy purple python queen quiet rabbit
rain rainbow ribbon river robin rock rocket roof root rope rose sailor salt sand school seed server
sheep shell ship silver simple slow smile snow sock song spoon square star stone storm story stream
street strong sugar summer sun table teacher thunder ticket tiger token train tree triangle turtle
valley village violin wall warm wave wind window winter yellow zebra
""".split()
