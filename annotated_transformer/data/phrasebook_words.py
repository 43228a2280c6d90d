"Words and templates of the phrasebook. A template is `English = German`; what its slots take is in `phrasebook.SLOTS`."
__all__ = ["CITIES", "CITIES_IN_GERMAN", "EVERYDAY", "FIXED", "GOODS", "MEN", "PLACES", "SURNAMES", "TEMPLATES", "WOMEN"]
# First names; none of those in benchmarks/sentences/phrasebook.json, so that copying is measured on names never seen here.
MEN = (
    "Tom Peter Paul John James Michael David Robert William Thomas Daniel Matthew Andrew Mark Steven Kevin Brian George "
    "Edward Jason Ryan Jacob Gary Nicholas Eric Jonathan Stephen Larry Justin Scott Brandon Benjamin Samuel Frank Raymond "
    "Jack Dennis Jerry Tyler Aaron Jose Nathan Henry Douglas Adam Zachary Walter Kyle Harold Carl Jeremy Arthur Roger Keith "
    "Lawrence Terry Sean Christian Albert Austin Joe Ethan Willie Jesse Bryan Bruce Ralph Roy Noah Dylan Eugene Wayne Alan "
    "Juan Louis Russell Gabriel Randy Vincent Hans Stefan Lukas Jonas Felix Max Leon Klaus Jürgen Wolfgang Uwe Dieter "
    "Matthias Florian Tobias Sebastian Dominik Ali Mehmet Ivan Pierre Antonio Marco Luigi Hiroshi Kenji Oliver Harry Liam "
    "Oscar Hugo Simon Martin Victor Ben Ted Bill Bob Jim Mike Fred "
).split()
WOMEN = (
    "Anna Emily Jennifer Linda Elizabeth Barbara Susan Jessica Karen Lisa Nancy Betty Sandra Margaret Ashley Kimberly Donna "
    "Michelle Carol Amanda Melissa Stephanie Laura Cynthia Kathleen Amy Angela Shirley Brenda Emma Nicole Pamela Samantha "
    "Katherine Christine Helen Rachel Carolyn Janet Maria Heather Diane Olivia Julie Joyce Victoria Ruth Virginia Lauren "
    "Kelly Christina Joan Evelyn Judith Andrea Hannah Megan Cheryl Jacqueline Martha Madison Teresa Gloria Sara Janice Ann "
    "Kathryn Abigail Sophia Frances Jean Alice Judy Isabella Julia Grace Amber Denise Danielle Marilyn Beverly Charlotte "
    "Natalie Theresa Diana Brittany Doris Kayla Alexis Lori Claudia Sabine Monika Petra Ursula Heike Katharina Johanna Lena "
    "Lea Mia Fatma Yuki Carmen Lucia Chloe Zoe Kate Lucy "
).split()
BEGINNINGS = (
    "Ash Bar Brad Brom Bur Cal Car Chal Chat Clif Cran Crof Dal Dar Den Dor Dray Ed El Fair Farn Fen Gar Gil Glad Graf Hal "
    "Har Hart Hol Horn Hud Kel Ken Kirk Lang Led Lin Lock Mar Mel Mil Mor New Nor Oak Old Pem Pres Rad Red Rich Rock Rud "
    "Sel Shel Stan Stock Strat Sut Swin Tal Tem Wake Wal War Wes Whit Win Wood York "
).split()
ENDINGS = "ton ley ford man son well worth ham bury by ridge wick more den stone combe".split()
MADE = [first + last for first in BEGINNINGS for last in ENDINGS if first[-2:].lower() != last[:2] and first + last != "Milton"]
SURNAMES = (
    "Smith Johnson Williams Brown Jones Davis Wilson Moore Taylor Anderson Jackson White Harris Thompson Garcia Martinez "
    "Robinson Clark Rodriguez Lewis Lee Walker Hall Allen Young Hernandez King Wright Lopez Hill Green Adams Baker Nelson "
    "Carter Mitchell Perez Roberts Turner Phillips Campbell Parker Evans Edwards Collins Stewart Sanchez Morris Rogers Reed "
    "Cook Morgan Bell Murphy Bailey Rivera Cooper Cox Howard Ward Peterson Gray James Watson Brooks Kelly Sanders Price "
    "Bennett Wood Barnes Ross Coleman Jenkins Perry Powell Long Hughes Foster Gonzalez Bryant Russell Griffin Hayes Müller "
    "Schmidt Schneider Fischer Weber Meyer Wagner Becker Hoffmann Schulz Koch Richter Klein Wolf Schröder Neumann Schwarz "
    "Braun Zimmermann Krüger Hartmann Lange Werner Krause Lehmann Yamamoto Tanaka Nguyen Kowalski Novak Rossi Ferrari "
    "Dubois Yilmaz "
).split() * 5 + MADE
CITIES = [name.replace("_", " ") for name in (
    "Berlin Hamburg London Paris Boston Leeds Liverpool Bristol Oxford Cambridge York Edinburgh Glasgow Dublin Chicago "
    "Seattle Denver Dallas Houston Detroit Atlanta Phoenix Portland Austin Miami Toronto Montreal Vancouver Sydney "
    "Melbourne Brisbane Frankfurt Stuttgart Dresden Leipzig Bremen Bonn Kiel Rostock Freiburg Heidelberg Mannheim Augsburg "
    "Salzburg Graz Linz Innsbruck Bern Basel Madrid Barcelona Sevilla Valencia Porto Amsterdam Rotterdam Stockholm Oslo "
    "Helsinki Budapest Ankara Istanbul Izmir Boulder Memphis Nashville Kyoto Osaka Nagoya Mumbai Delhi Nairobi Lagos "
    "Casablanca Lima Bogota Buenos_Aires New_York San_Francisco Los_Angeles Las_Vegas San_Diego Salt_Lake_City Bordeaux "
    "Marseille Toulouse Lyon Nantes Bologna Verona Palermo Bilbao "
).split() * 6 + MADE]
CITIES_IN_GERMAN = [
    ("Munich", "München"), ("Cologne", "Köln"), ("Vienna", "Wien"), ("Rome", "Rom"), ("Milan", "Mailand"), ("Venice", "Venedig"),
    ("Florence", "Florenz"), ("Naples",
     "Neapel"), ("Zurich", "Zürich"), ("Geneva", "Genf"), ("Prague", "Prag"), ("Warsaw", "Warschau"),
    ("Moscow", "Moskau"), ("Brussels", "Brüssel"), ("Copenhagen", "Kopenhagen"), ("Lisbon", "Lissabon"), ("Athens", "Athen"),
    ("Tokyo", "Tokio"), ("Beijing", "Peking"), ("Cairo", "Kairo"), ("Hanover", "Hannover"), ("Nuremberg", "Nürnberg"),
    ("Strasbourg", "Straßburg"), ("Bucharest", "Bukarest"), ("Singapore", "Singapur"),
]
PLACES = [(*line.split(" = "), gender) for gender, group in enumerate((
    "station = Bahnhof, airport = Flughafen, supermarket = Supermarkt, park = Park, market = Markt, harbor = Hafen, zoo "
    "= Zoo, tower = Turm, market square = Marktplatz, playground = Spielplatz, campground = Campingplatz, kiosk = Kiosk",
    "church = Kirche, bridge = Brücke, school = Schule, bank = Bank, bakery = Bäckerei, pharmacy = Apotheke, library = "
    "Bibliothek, gas station = Tankstelle, university = Universität, bus stop = Bushaltestelle, post office = Post, "
    "parking garage = Tiefgarage",
    "hotel = Hotel, hospital = Krankenhaus, museum = Museum, theater = Theater, swimming pool = Schwimmbad, stadium = "
    "Stadion, town hall = Rathaus, castle = Schloss, restaurant = Restaurant, movie theater = Kino, café = Café, youth "
    "center = Jugendzentrum",
)) for line in group.split(", ")]
GOODS = [(*line.split(" = "), gender) for gender, group in enumerate((
    "coat = Mantel, hat = Hut, table = Tisch, ring = Ring, umbrella = Regenschirm, sweater = Pullover, chair = Stuhl, "
    "computer = Computer, carpet = Teppich, suitcase = Koffer, cake = Kuchen, belt = Gürtel",
    "bag = Tasche, lamp = Lampe, watch = Uhr, jacket = Jacke, camera = Kamera, vase = Vase, bottle of wine = Flasche Wein, "
    "blanket = Decke, guitar = Gitarre, map = Landkarte, blouse = Bluse, doll = Puppe",
    "book = Buch, bicycle = Fahrrad, shirt = Hemd, picture = Bild, dress = Kleid, phone = Handy, car = Auto, bed = Bett, "
    "sofa = Sofa, pillow = Kissen, dictionary = Wörterbuch, toy = Spielzeug",
)) for line in group.split(", ")]
TEMPLATES = {
    "times": """
It is {time}. = Es ist {time}.
It's {time}. = Es ist {time}.
It is already {time}. = Es ist schon {time}.
It's almost {time}. = Es ist fast {time}.
It was {time} when {name} came home. = Es war {time}, als {name} nach Hause kam.
The train leaves at {time}. = Der Zug fährt um {time} ab.
The train to {city} leaves at {time}. = Der Zug nach {city} fährt um {time} ab.
The train from {city} arrives at {time}. = Der Zug aus {city} kommt um {time} an.
The bus leaves at {time}. = Der Bus fährt um {time} ab.
The first bus leaves at {time}. = Der erste Bus fährt um {time} ab.
Our plane takes off at {time}. = Unser Flugzeug startet um {time}.
Her plane lands at {time}. = Ihr Flugzeug landet um {time}.
The shop opens at {time}. = Das Geschäft öffnet um {time}.
The bank closes at {time}. = Die Bank schließt um {time}.
The museum is open until {time}. = Das Museum ist bis {time} geöffnet.
The film starts at {time}. = Der Film beginnt um {time}.
The meeting begins at {time}. = Die Besprechung beginnt um {time}.
The meeting on {day} begins at {time}. = Die Besprechung am {day} beginnt um {time}.
School begins at {time}. = Die Schule beginnt um {time}.
The game starts at {time}. = Das Spiel fängt um {time} an.
I get up at {time}. = Ich stehe um {time} auf.
I usually get up at {time}. = Ich stehe gewöhnlich um {time} auf.
{name} gets up at {time} every day. = {name} steht jeden Tag um {time} auf.
I went to bed at {time}. = Ich bin um {time} ins Bett gegangen.
We have dinner at {time}. = Wir essen um {time} zu Abend.
We have lunch at {time}. = Wir essen um {time} zu Mittag.
Let's meet at {time}. = Treffen wir uns um {time}.
Shall we meet at {time}? = Wollen wir uns um {time} treffen?
Let's meet in front of {place} at {time}. = Treffen wir uns um {time} vor {place:dat}.
I'll call you at {time}. = Ich rufe dich um {time} an.
I'll pick you up at {time}. = Ich hole dich um {time} ab.
Please wake me up at {time}. = Bitte weck mich um {time}.
{name} woke me up at {time}. = {name} hat mich um {time} geweckt.
I have to be at work at {time}. = Ich muss um {time} bei der Arbeit sein.
Are you free at {time}? = Hast du um {time} Zeit?
Can you come at {time}? = Kannst du um {time} kommen?
{name} is coming at {time}. = {name} kommt um {time}.
We arrived in {city} at {time}. = Wir sind um {time} in {city} angekommen.
I waited until {time}. = Ich habe bis {time} gewartet.
What were you doing at {time}? = Was hast du um {time} gemacht?
Dinner is at {time}. = Abendessen gibt es um {time}.
I have an appointment with Dr. {last} at {time}. = Ich habe um {time} einen Termin bei Dr. {last}.
On {day} I have to get up at {time}. = Am {day} muss ich um {time} aufstehen.
""",
    "dates": """
My birthday is on {date}. = Mein Geburtstag ist am {date}.
{name}'s birthday is on {date}. = {name} hat am {date} Geburtstag.
Today is {today}. = Heute ist der {today}.
Today is {day}, {today}. = Heute ist {day}, der {today}.
Tomorrow is {day}. = Morgen ist {day}.
Yesterday was {day}. = Gestern war {day}.
The course starts on {date}. = Der Kurs beginnt am {date}.
The wedding is on {date}. = Die Hochzeit ist am {date}.
The exam is on {date}. = Die Prüfung ist am {date}.
Our train leaves on {date} at {time}. = Unser Zug fährt am {date} um {time} ab.
I was born on {long_date}. = Ich wurde am {long_date} geboren.
{name} was born on {long_date}. = {name} wurde am {long_date} geboren.
I was born in {year}. = Ich wurde {year} geboren.
{name} was born in {city} in {year}. = {name} wurde {year} in {city} geboren.
{full} died in {year}. = {full} starb {year}.
My grandmother died in {year}. = Meine Großmutter ist {year} gestorben.
We moved to {city} in {year}. = Wir sind {year} nach {city} gezogen.
This house was built in {year}. = Dieses Haus wurde {year} gebaut.
The bridge was built in {year}. = Die Brücke wurde {year} gebaut.
It happened in {month} {year}. = Es geschah im {month} {year}.
We got married in {month} {year}. = Wir haben im {month} {year} geheiratet.
I have lived in {city} since {year}. = Ich wohne seit {year} in {city}.
{name} has lived in {city} since {year}. = {name} wohnt seit {year} in {city}.
I have been learning German since {year}. = Ich lerne seit {year} Deutsch.
We are going to {city} in {month}. = Wir fahren im {month} nach {city}.
The shop is closed on {day}. = Der Laden ist am {day} geschlossen.
See you on {day}. = Bis {day}.
We'll be back on {date}. = Wir sind am {date} wieder da.
It rained a lot in {month}. = Im {month} hat es viel geregnet.
I have to go to {city} on {day}. = Ich muss am {day} nach {city}.
The letter is dated {date}. = Der Brief ist vom {date}.
""",
    "prices and numbers": """
It costs {price}. = Es kostet {price}.
That costs {price}. = Das kostet {price}.
That will be {price}. = Das macht {price}.
That's {price}, please. = Das macht {price}, bitte.
{goods} costs {price}. = {goods:nom} kostet {price}.
{goods} only costs {price}. = {goods:nom} kostet nur {price}.
{goods} cost me {price}. = {goods:nom} hat mich {price} gekostet.
How much does {goods} cost? = Wie viel kostet {goods:nom}?
How much is {goods}? = Wie viel kostet {goods:nom}?
I paid {price} for {goods}. = Ich habe {price} für {goods:acc} bezahlt.
I'll give you {price} for {goods}. = Ich gebe dir {price} für {goods:acc}.
I bought {goods} for {price}. = Ich habe {goods:acc} für {price} gekauft.
The ticket costs {price}. = Die Fahrkarte kostet {price}.
A ticket to {city} costs {price}. = Eine Fahrkarte nach {city} kostet {price}.
The room costs {price} a night. = Das Zimmer kostet {price} pro Nacht.
These shoes cost {price}. = Diese Schuhe kosten {price}.
Can you lend me {price}? = Kannst du mir {price} leihen?
{name} owes me {price}. = {name} schuldet mir {price}.
I only have {price} with me. = Ich habe nur {price} dabei.
She earns {price} an hour. = Sie verdient {price} in der Stunde.
I am {age} years old. = Ich bin {age} Jahre alt.
{name} is {age} years old. = {name} ist {age} Jahre alt.
My grandmother is {age} years old. = Meine Großmutter ist {age} Jahre alt.
Our house is {many} years old. = Unser Haus ist {many} Jahre alt.
I have lived here for {n} years. = Ich wohne seit {n} Jahren hier.
{name} has worked here for {n} years. = {name} arbeitet seit {n} Jahren hier.
They have {few} children. = Sie haben {few} Kinder.
We need {few} eggs. = Wir brauchen {few} Eier.
I'd like {few} apples, please. = Ich hätte gern {few} Äpfel, bitte.
There are {n} students in our class. = In unserer Klasse sind {n} Schüler.
The hotel has {many} rooms. = Das Hotel hat {many} Zimmer.
The book has {many} pages. = Das Buch hat {many} Seiten.
Open your books to page {many}. = Schlagt eure Bücher auf Seite {many} auf.
My room number is {many}. = Meine Zimmernummer ist {many}.
It takes {n} minutes to get to {place}. = Man braucht {n} Minuten bis zu {place:dat}.
The bus comes every {n} minutes. = Der Bus kommt alle {n} Minuten.
I'll be back in {n} minutes. = Ich bin in {n} Minuten zurück.
We waited for {n} minutes. = Wir haben {n} Minuten gewartet.
It is {n} degrees today. = Heute sind es {n} Grad.
It's {many} kilometers to {city}. = Es sind {many} Kilometer bis {city}.
I live on the {floor} floor. = Ich wohne im {floor} Stock.
{name} lives on the {floor} floor. = {name} wohnt im {floor} Stock.
I've read {n} pages today. = Ich habe heute {n} Seiten gelesen.
We have {few} cats and {n} chickens. = Wir haben {few} Katzen und {n} Hühner.
""",
    "names": """
{full} from {city} called yesterday. = {full} aus {city} hat gestern angerufen.
{full} called you this morning. = {full} hat dich heute Morgen angerufen.
My name is {full}. = Ich heiße {full}.
My name is {name}. = Ich heiße {name}.
I'm {full}. = Ich bin {full}.
Hello, I'm {name} from {city}. = Hallo, ich bin {name} aus {city}.
This is my friend {man}. = Das ist mein Freund {man}.
This is my friend {woman}. = Das ist meine Freundin {woman}.
This is my brother {man}. = Das ist mein Bruder {man}.
My sister's name is {woman}. = Meine Schwester heißt {woman}.
My best friend's name is {man} {last}. = Mein bester Freund heißt {man} {last}.
Do you know {full}? = Kennst du {full}?
Who is {full}? = Wer ist {full}?
{name} lives in {city}. = {name} wohnt in {city}.
{full} lives in {city}. = {full} wohnt in {city}.
{name} and {other} live in {city}. = {name} und {other} wohnen in {city}.
{name} and {other} are from {city}. = {name} und {other} kommen aus {city}.
{name} comes from {city}. = {name} kommt aus {city}.
{name} was born in {city}. = {name} wurde in {city} geboren.
{name} moved from {city} to {town}. = {name} ist von {city} nach {town} gezogen.
{name} works in {city}. = {name} arbeitet in {city}.
{name} is studying in {city}. = {name} studiert in {city}.
I met {name} in {city}. = Ich habe {name} in {city} kennengelernt.
We visited {name} in {city} last summer. = Wir haben letzten Sommer {name} in {city} besucht.
Mr. {last} is waiting for you. = Herr {last} wartet auf Sie.
Mrs. {last} is our neighbor. = Frau {last} ist unsere Nachbarin.
Mr. {last} is our new teacher. = Herr {last} ist unser neuer Lehrer.
Mrs. {last} is our new teacher. = Frau {last} ist unsere neue Lehrerin.
Ms. {last} isn't in the office today. = Frau {last} ist heute nicht im Büro.
Mr. and Mrs. {last} live next door. = Herr und Frau {last} wohnen nebenan.
Dr. {last} is a good doctor. = Dr. {last} ist ein guter Arzt.
Could I speak to Mr. {last}, please? = Könnte ich bitte mit Herrn {last} sprechen?
Could I speak to Mrs. {last}, please? = Könnte ich bitte mit Frau {last} sprechen?
Please call Mr. {last}. = Bitte rufen Sie Herrn {last} an.
I have an appointment with Mrs. {last}. = Ich habe einen Termin bei Frau {last}.
{man} {last} is a famous singer. = {man} {last} ist ein berühmter Sänger.
{woman} {last} is a famous writer. = {woman} {last} ist eine berühmte Schriftstellerin.
Mr. {last} from {city} sent us a letter. = Herr {last} aus {city} hat uns einen Brief geschickt.
We are flying to {city} tomorrow. = Wir fliegen morgen nach {city}.
We are driving to {city} on {day}. = Wir fahren am {day} nach {city}.
Have you ever been to {city}? = Warst du schon einmal in {city}?
I would like to live in {city}. = Ich würde gern in {city} leben.
How far is it from {city} to {town}? = Wie weit ist es von {city} nach {town}?
How do I get to {city}? = Wie komme ich nach {city}?
{city} is a beautiful city. = {city} ist eine schöne Stadt.
{city} is bigger than {town}. = {city} ist größer als {town}.
The weather in {city} is bad. = Das Wetter in {city} ist schlecht.
Where is {name}? = Wo ist {name}?
Is {name} at home? = Ist {name} zu Hause?
I'm looking for {name}. = Ich suche {name}.
Have you seen {name}? = Hast du {name} gesehen?
{name} is ill today. = {name} ist heute krank.
{name}, can you help me? = {name}, kannst du mir helfen?
{name} told me that {other} is ill. = {name} hat mir gesagt, dass {other} krank ist.
{name} gave {other} a book. = {name} hat {other} ein Buch gegeben.
{name} is waiting for {other}. = {name} wartet auf {other}.
{name} and {other} got married in {city}. = {name} und {other} haben in {city} geheiratet.
{name} is taller than {other}. = {name} ist größer als {other}.
I got a letter from {name}. = Ich habe einen Brief von {name} bekommen.
Say hello to {name}. = Grüß {name} von mir.
{name}'s brother lives in {city}. = Der Bruder von {name} wohnt in {city}.
{name}'s mother is a doctor. = Die Mutter von {name} ist Ärztin.
{name} and I are good friends. = {name} und ich sind gute Freunde.
I went to the movies with {name}. = Ich bin mit {name} ins Kino gegangen.
{name} is coming to dinner on {day}. = {name} kommt am {day} zum Abendessen.
{name} has forgotten {other}. = {name} hat {other} vergessen.
""",
    "greetings and ways": """
Good morning, {name}. = Guten Morgen, {name}.
Good morning, Mr. {last}. = Guten Morgen, Herr {last}.
Good evening, Mrs. {last}. = Guten Abend, Frau {last}.
Good night, {name}. = Gute Nacht, {name}.
Hello, {name}! = Hallo, {name}!
Hi, {name}! = Hallo, {name}!
Goodbye, Mr. {last}. = Auf Wiedersehen, Herr {last}.
Bye, {name}! = Tschüss, {name}!
How are you, {name}? = Wie geht es dir, {name}?
How are you, Mr. {last}? = Wie geht es Ihnen, Herr {last}?
Thank you, {name}. = Danke, {name}.
Thank you very much, Mrs. {last}. = Vielen Dank, Frau {last}.
Happy birthday, {name}! = Alles Gute zum Geburtstag, {name}!
Welcome to {city}! = Willkommen in {city}!
Nice to meet you, Mr. {last}. = Freut mich, Sie kennenzulernen, Herr {last}.
Turn {side} after {place}. = Biegen Sie nach {place:dat} {side} ab.
Turn {side} before {place}. = Biegen Sie vor {place:dat} {side} ab.
Turn {side} at the next corner. = Biegen Sie an der nächsten Ecke {side} ab.
Turn {side} at the traffic lights. = Biegen Sie an der Ampel {side} ab.
Go straight ahead and then turn {side}. = Gehen Sie geradeaus und biegen Sie dann {side} ab.
Go straight ahead as far as {place}. = Gehen Sie geradeaus bis zu {place:dat}.
{place} is on the {side}. = {place:nom} ist {side}.
You will see {place} on the {side}. = {side} sehen Sie {place:acc}.
Excuse me, where is {place}? = Entschuldigung, wo ist {place:nom}?
Where is {place}? = Wo ist {place:nom}?
How do I get to {place}? = Wie komme ich zu {place:dat}?
Can you tell me how to get to {place}? = Können Sie mir sagen, wie ich zu {place:dat} komme?
Could you show me the way to {place}? = Könnten Sie mir den Weg zu {place:dat} zeigen?
How far is it to {place}? = Wie weit ist es bis zu {place:dat}?
We are meeting in front of {place}. = Wir treffen uns vor {place:dat}.
The bus stops in front of {place}. = Der Bus hält vor {place:dat}.
Take the second street on the {side}. = Nehmen Sie die zweite Straße {side}.
""",
}
TEMPLATES = {group: text.strip().splitlines() for group, text in TEMPLATES.items()}
FIXED = """
What time is it? = Wie spät ist es?
What time is it now? = Wie spät ist es jetzt?
Can you tell me what time it is? = Kannst du mir sagen, wie spät es ist?
What day is it today? = Welcher Tag ist heute?
What's the date today? = Den Wievielten haben wir heute?
When is your birthday? = Wann hast du Geburtstag?
How old are you? = Wie alt bist du?
What's your name? = Wie heißt du?
Where are you from? = Woher kommst du?
Turn right. = Biegen Sie rechts ab.
Go straight ahead. = Gehen Sie geradeaus.
Good morning. = Guten Morgen.
Good afternoon. = Guten Tag.
Good evening. = Guten Abend.
Good night. = Gute Nacht.
Goodbye. = Auf Wiedersehen.
See you later. = Bis später.
See you soon. = Bis bald.
How are you? = Wie geht es dir?
I'm fine, thank you. = Mir geht es gut, danke.
Thank you very much. = Vielen Dank.
You're welcome. = Gern geschehen.
I'm sorry. = Es tut mir leid.
Excuse me. = Entschuldigung.
Have a nice day. = Einen schönen Tag noch.
Have a nice weekend. = Schönes Wochenende.
Happy New Year! = Frohes neues Jahr!
Merry Christmas! = Frohe Weihnachten!
Enjoy your meal! = Guten Appetit!
Cheers! = Prost!
Get well soon! = Gute Besserung!
Good luck! = Viel Glück!
How much is it? = Wie viel kostet das?
How much does it cost? = Wie viel kostet es?
The check, please. = Die Rechnung, bitte.
I'd like a cup of coffee, please. = Ich hätte gern eine Tasse Kaffee, bitte.
A cup of tea, please. = Eine Tasse Tee, bitte.
Could you say that again? = Könnten Sie das noch einmal sagen?
I don't understand. = Ich verstehe nicht.
Do you speak English? = Sprechen Sie Englisch?
I speak a little German. = Ich spreche ein wenig Deutsch.
Please speak more slowly. = Bitte sprechen Sie langsamer.
Where is the bathroom? = Wo ist die Toilette?
I'm hungry. = Ich habe Hunger.
I'm thirsty. = Ich habe Durst.
I'm tired. = Ich bin müde.
Help! = Hilfe!
Of course. = Natürlich.
Nice to meet you. = Freut mich, Sie kennenzulernen.
Make yourself at home. = Fühlen Sie sich wie zu Hause.
Long time no see. = Lange nicht gesehen.
What do you do for a living? = Was machen Sie beruflich?
What's the weather like? = Wie ist das Wetter?
The train is late. = Der Zug hat Verspätung.
""".strip().splitlines()
# Sentences in which it is er, sie or es.
OWNERS = [("I", "ich habe"), ("we", "wir haben"), ("Tom", "Tom hat"), ("Mary", "Maria hat"), ("my father", "mein Vater hat"),
          ("my sister", "meine Schwester hat"), ("the children", "die Kinder haben"), ("Anna", "Anna hat"),
          ("Peter", "Peter hat")]
FAULTS = "expensive teuer, old alt, small klein, big groß, ugly hässlich, heavy schwer"
TASTES = "salty salzig, hot heiß, cold kalt, greasy fettig, bitter bitter"
FINE = "beautiful schön, practical praktisch, new neu, cheap billig, unusual ungewöhnlich"
EVERYDAY = [  # kind of noun, English, German, what is said of it
    ("thing", "{who} didn't buy the {n} because it was too {says}.",
     "{have} {n:acc} nicht gekauft, weil {it_nom} zu {says} war.", FAULTS),
    ("furniture", "{who} didn't buy the {n} because it was too {says}.",
     "{have} {n:acc} nicht gekauft, weil {it_nom} zu {says} war.", FAULTS),
    ("furniture", "{who} sold the {n} because it was too {says}.",
     "{have} {n:acc} verkauft, weil {it_nom} zu {says} war.", FAULTS),
    ("vehicle", "{who} sold the {n} because it was too {says}.", "{have} {n:acc} verkauft, weil {it_nom} zu {says} war.",
     "old alt, slow langsam, loud laut, small klein, expensive teuer"),
    ("thing", "I like the {n} because it is so {says}.", "{n:nom} gefällt mir, weil {it_nom} so {says} ist.", FINE),
    ("furniture", "I like the {n} because it is so {says}.", "{n:nom} gefällt mir, weil {it_nom} so {says} ist.", FINE),
    ("thing", "Where is the {n}? It is in the {says}.", "Wo ist {n:nom}? {upper_it} ist {says}.",
     "kitchen in_der_Küche, garden im_Garten, car im_Auto, bedroom im_Schlafzimmer, cellar im_Keller, garage in_der_Garage"),
    ("thing", "{who} lost the {n}, but Paul found it.", "{have} {n:acc} verloren, aber Paul hat {it_acc} gefunden."),
    ("thing", "{who} found the {n} and brought it home.", "{have} {n:acc} gefunden und {it_acc} nach Hause gebracht."),
    ("vehicle", "The {n} is broken. Can you repair it?", "{n:nom} ist kaputt. Kannst du {it_acc} reparieren?"),
    ("thing", "Take the {n} with you if you need it.", "Nimm {n:acc} mit, wenn du {it_acc} brauchst."),
    ("pet", "The {n} is {says}. Give it something to eat.", "{n:nom} ist {says}. Gib {it_dat} etwas zu fressen.",
     "hungry hungrig, weak schwach, thin dünn"),
    ("being", "{who} saw the {n} when it crossed the {says}.", "{have} {n:acc} gesehen, als {it_nom} {says} überquerte.",
     "street die_Straße, path den_Weg, field das_Feld, river den_Fluss, bridge die_Brücke, meadow die_Wiese"),
    ("being", "The {n} is {says} because it hasn't slept.", "{n:nom} ist {says}, weil {it_nom} nicht geschlafen hat.",
     "tired müde, nervous nervös, weak schwach, restless unruhig"),
    ("pet", "{who} took the {n} to the vet because it was {says}.",
     "{have} {n:acc} zum Tierarzt gebracht, weil {it_nom} {says} war.",
     "ill krank, injured verletzt, weak schwach, sick krank"),
    ("food", "The {n} tastes good, but it is too {says}.", "{n:nom} schmeckt gut, aber {it_nom} ist zu {says}.",
     TASTES),
    ("food", "{who} didn't eat the {n} because it was too {says}.", "{have} {n:acc} nicht gegessen, weil {it_nom} zu {says} war.",
     TASTES),
    ("food", "{who} bought the {n} and ate it immediately.", "{have} {n:acc} gekauft und {it_acc} sofort gegessen."),
    ("vehicle", "The {n} is {says}, but it still works.",
     "{n:nom} ist {says}, aber {it_nom} funktioniert noch.", "old alt, rusty rostig, dirty schmutzig"),
]
