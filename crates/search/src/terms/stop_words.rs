//! Words that say too little to be searched for, a fixed list for each language.

use super::Language;

/// Whether this word, its case folded, is a stop word of the language.
pub(super) fn is_stop_word(word: &str, language: Language) -> bool {
    let mut words = list(language).split_ascii_whitespace();
    words.any(|stop_word| stop_word == word)
}

fn list(language: Language) -> &'static str {
    match language {
        Language::Auto | Language::None => "",
        Language::Arabic => ARABIC,
        Language::Danish => DANISH,
        Language::Dutch => DUTCH,
        Language::English => ENGLISH,
        Language::Finnish => FINNISH,
        Language::French => FRENCH,
        Language::German => GERMAN,
        Language::Greek => GREEK,
        Language::Hungarian => HUNGARIAN,
        Language::Italian => ITALIAN,
        Language::Norwegian => NORWEGIAN,
        Language::Portuguese => PORTUGUESE,
        Language::Romanian => ROMANIAN,
        Language::Russian => RUSSIAN,
        Language::Spanish => SPANISH,
        Language::Swedish => SWEDISH,
        Language::Tamil => TAMIL,
        Language::Turkish => TURKISH,
    }
}

const ARABIC: &str = "
    في من على إلى عن مع هذا هذه ذلك تلك هو هي هم هن أنا نحن أنت أنتم التي الذي الذين ما ماذا لا لم لن إن أن كان كانت يكون تكون قد
    كل بعض غير بين بعد قبل عند حتى أو ثم و ف ب ل ك إذا كيف متى أين لماذا هل أي كما أيضا فقط";

const DANISH: &str = "
    af alle alt at blev bliver da de dem den denne der deres det dette dig din du efter eller en end er et for fra har havde han hans
    hende her hun hvad hvem hver hvis hvor hvordan hvornår i ikke ind jeg jer kan man med men mig min mod ned når og også om op os
    over på sig sin skal som til ud under var ved vi vil være været";

const DUTCH: &str = "
    aan al als bij dan dat de der deze die dit doch door dus een en er ge geen haar had heb hebben heeft hem het hij hoe hun ik in is
    ja je kan kon maar me meer men met mij mijn na naar niet nog nu of om omdat onder ons ook op over te tegen toch toen tot u uit
    uw van veel voor waar waren was wat we wel werd wie wij wil worden wordt zal ze zich zij zijn zo zou";

const ENGLISH: &str = "
    a about after all also an and any are as at be been being but by can could did do does for from had has have he her his how i if
    in into is it its may me more must my no not of on or other our she should so some such than that the their them then there
    these they this those to was we were what when where which who why will with would you your";

const FINNISH: &str = "
    ei eivät emme en et ette että he hän häneen hänen ja jo joka jos jossa jota jotka kanssa kuin kuinka kun me mihin mikä miksi
    milloin minkä minä missä mistä mitkä mitä mukaan mutta myös ne niiden niin niitä nyt oli olivat ole olen olla on ovat se sekä sen
    siinä sitä sinä tai te tämä tämän tässä tätä vai vain";

const FRENCH: &str = "
    à au aux avec avait c'est ce ces cet cette comme comment d'un d'une dans de des du elle elles en entre est et était étaient être
    eux fait il ils j'ai je la le les leur leurs lui ma mais me mes moi mon n'est ne nos notre nous on ont ou où par pas plus pour
    pourquoi qu'il qu'elle quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sur ta te tes toi ton tu un une
    vos votre vous y";

const GERMAN: &str = "
    aber alle als also am an auch auf aus bei bin bis da damit dann das dass dem den denn der des die dies diese diesem diesen
    dieser dieses doch du durch ein eine einem einen einer eines er es für haben hat hatte hatten ich ihr ihre im in ist ja kann
    können man mein mit nach nicht noch nur ob oder ohne sehr sein seine sich sie sind so über um und uns unter vom von vor wann war
    waren warum was wenn wer werden wie wir wird wo wurde wurden zu zum zur";

const GREEK: &str = "
    ο η το οι τα του τησ των τον την τουσ τισ στο στη στην στον στα στουσ στισ σε με για από απο προσ κατά παρά μετά και κι ή αλλά
    αν να θα δεν μη μην που πωσ ότι όπωσ όταν πότε πού τι τί ποιοσ ποια ποιο αυτόσ αυτή αυτό αυτοί αυτέσ αυτά εγώ εσύ εμείσ εσείσ
    μου σου μασ σασ είναι ήταν έχει έχουν είχε ένασ μια μία ένα ωσ";

const HUNGARIAN: &str = "
    a az abban addig ahhoz ahogy ahol aki akik akkor alatt amely amelyek ami amíg annak arra azok azt azzal be bele csak de e ebben
    egy egyik ehhez el ennek erre és ez ezek ezt ezzel fel hanem hogy hogyan hol ha igen is itt ki kell le lehet lesz lett meg mely
    mert mi miért mikor mint mit most nem nincs ő ők olyan ott össze pedig s sem ső szerint után vagy van vannak volt voltak";

const ITALIAN: &str = "
    a ad agli ai al alla alle allo anche che chi ci come con così cui da dagli dai dal dalla dalle dallo dei degli del della delle
    dello di dove e è ed era erano essere fra gli ha hanno ho i il in io l'ha la le lei li lo loro lui ma mi mia mio ne negli nei nel
    nella nelle nello noi non o per perché più quale quali quando quanto quella quello questa queste questi questo se si sia sono su
    sua sue sugli sui sul sulla sulle suo suoi tra tu un una uno vi voi";

const NORWEGIAN: &str = "
    alle at av begge ble bli blir da de deg dem den denne der dere deres det dette din disse du eller en enn er et etter for fordi
    fra før ha hadde han hans har hennes her hun hva hvem hver hvis hvor hvordan hvorfor i ikke inn jeg kan man med meg men mot mye
    når ned og også om opp oss over på seg sin sitt skal som til ut uten var ved vi vil være vært";

const PORTUGUESE: &str = "
    a à ao aos às as até com como da das de dela dele deles depois do dos e é ela elas ele eles em entre era eram essa esse esta está
    estão este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no nos nós num numa o onde os ou
    para pela pelas pelo pelos por porque qual quais quando que quem são se sem ser seu seus só sua suas também te tem têm um uma
    você";

const ROMANIAN: &str = "
    a acea aceasta această aceea acel acest acesta ai al ale am ar are as asupra au avea c ca că când care ce cel cele cei cine cu cum
    da dar de deci decât din după e ea ei el ele era erau este eu fi fie fiind fost iar îi îl în într într-un își la le lor lui mai
    mea meu mult ne nici noi nu o or ori pe pentru pot prin sa să sale sau se și spre sub sunt te toate toți tu un una unde unei unor
    unui va vă voi vom vor";

const RUSSIAN: &str = "
    а без бы был была были было быть в вам вас весь во вот все всё вы где да для до его ее её если есть еще ещё же за и из или им их
    к как какой когда кто ли либо мне мы на над наш не него нее нет ни них но о об он она они оно от по под при с со так также такой
    там то тоже только тот ты у уже чего чем что чтобы эта эти это этого этой этот я";

const SPANISH: &str = "
    a al algo ante antes como con cómo cual cuál cuando cuándo de del desde donde dónde dos e el él ella ellas ellos en entre era eran
    es esa ese eso esta está están este esto estos fue fueron ha han hasta hay la las le les lo los más me mi mis mucho muy nada ni
    no nos nosotros o os otra otro para pero poco por porque qué que quien quién se sea ser si sí sin sobre son su sus también te
    tiene tienen todo tu un una uno unos y ya yo";

const SWEDISH: &str = "
    alla allt att av blev bli blir de dem den denna deras dess dessa det detta dig din du där efter eller en er ett från för ha hade
    han hans har henne hennes hon hur här i icke inte jag kan man med mellan men mig min mot mycket ni nu när någon något några och
    om oss på samma sig sin sitt ska skall som till under upp ut utan vad var varför vara varit vart vem vi vid vilka vilken vilket
    vill är över";

const TAMIL: &str = "
    ஒரு என்று மற்றும் இந்த இது என்ற கொண்டு என்பது பல ஆகும் அல்லது அவர் நான் உள்ள அந்த இவர் என முதல் என்ன இருந்து சில என் போன்ற
    வேண்டும் வந்து இதன் அது அவன் தான் பலரும் என்னும் மேலும் பின்னர் கொண்ட இருக்கும் தனது உள்ளது போது என்றும் அதன் தன் பிறகு
    அவர்கள் வரை அவள் நீ ஆகிய இருந்தது உள்ளன வந்த இருந்த மிகவும் இங்கு மீது ஓர் இவை இந்தக் பற்றி வரும் வேறு இரு இதில் போல்
    இப்போது அவரது மட்டும் இந்தப் எனும் மேல் பின் சேர்ந்த ஆகியோர் எனக்கு இன்னும் அந்தப் அன்று ஒரே மிக அங்கு பல்வேறு";

const TURKISH: &str = "
    acaba ama ancak aslında az bana bazı belki ben beni benim bir biri biz bize bizim bu buna bunda bundan bunlar bunu bunun çok
    çünkü da daha de değil diye en gibi hem hep hepsi her hiç için ile ise kadar ki kim mi mı mu mü nasıl ne neden nerede niçin niye
    o olan olarak oldu olduğu on ona ondan onlar onu onun sanki sen siz şey şu tüm ve veya ya yani";

#[cfg(test)]
mod tests {
    use super::{ENGLISH, is_stop_word, list};
    use crate::terms::Language;
    use crate::terms::fold::{folded, normalized};
    use std::collections::HashSet;

    #[test]
    fn english_has_80() {
        assert_eq!(ENGLISH.split_ascii_whitespace().count(), 80);
    }

    #[test]
    fn each_language_has_a_list_of_folded_words_without_doubles() {
        for language in Language::ALL {
            let mut seen = HashSet::new();
            for word in list(language).split_ascii_whitespace() {
                assert!(seen.insert(word), "{language}: {word}");
                assert_eq!(folded(&normalized(word)), word, "{language}");
            }
            let has_words = !matches!(language, Language::Auto | Language::None);
            assert_eq!(seen.len() >= 50, has_words, "{language}: {}", seen.len());
        }
    }

    #[test]
    fn a_word_is_one_in_its_own_language_only() {
        assert!(is_stop_word("the", Language::English));
        assert!(is_stop_word(
            "της".replace('ς', "σ").as_str(),
            Language::Greek
        ));
        assert!(!is_stop_word("the", Language::German));
        assert!(!is_stop_word("the", Language::None));
        assert!(!is_stop_word("lease", Language::English));
    }
}
